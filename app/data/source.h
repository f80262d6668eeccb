#pragma once

// A data set as the registry knows it. To add one: a file that defines a function like those below, and a line in
// registry.cc.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/data_set.h"

namespace samplenorm::data {

/// Tells the user, in one line, what is going on.
using Say = std::function<void(const std::string&)>;

/// What is known of a half of a data set.
struct KnownHalf {
  int64_t of_each_class = 0;  ///< images of each class; 0: not known
  std::string sha256;         ///< half_digest() of it; empty: not known
};

struct Source {
  std::string name;
  std::string what;  ///< a line for --help
  /// `options.folder` is never empty. Throws Error.
  std::function<DataSet(const DataOptions& options)> open;
  /// Gets the data into the folder, or throws Error with what the user can do instead.
  std::function<void(const std::filesystem::path& folder, const Say& say)> fetch;
  KnownHalf train;
  KnownHalf test;
  /// Where the data are without a folder being named; empty: default_folder(name).
  std::filesystem::path folder = {};
};

/// Those that data_set_names() lists, and "folder".
const std::vector<Source>& sources();
/// Throws Error, which lists the names, if there is none.
const Source& find_source(const std::string& name);
/// `folder`, or where the source's data are if it is empty.
std::filesystem::path folder_of(const Source& source, const std::filesystem::path& folder);

/// $SAMPLENORM_DATA/name, or samplenorm/name in $XDG_CACHE_HOME or ~/.cache. Throws Error without any of these.
std::filesystem::path default_folder(const std::string& name);

}  // namespace samplenorm::data
