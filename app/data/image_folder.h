#pragma once

// Photographs in folders as ImageNet's are: ROOT/train/CLASS/*.jpg and ROOT/val/CLASS/*.jpg (.jpeg, .png; upper case
// too). The classes are the names in train/, sorted.

#include <filesystem>

#include "data/data_set.h"

namespace samplenorm::data {

/// `options.folder` is ROOT. An image that cannot be decoded is named once on stderr, and left out (or, strict, an
/// error). Throws Error.
DataSet open_image_folder(const DataOptions& options);

}  // namespace samplenorm::data
