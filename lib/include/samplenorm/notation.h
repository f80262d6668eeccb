#pragma once

// The names of the methods, as the paper writes them: "BN", "FS-1/64", "BS-4/128-3.1%", "FS-1/64+VDN-2/128;beta=0.3".
// methods() lists them, and `samplenorm methods` prints that list.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "samplenorm/error.h"
#include "samplenorm/sample.h"

namespace samplenorm {

struct Ratio {
  int64_t part = 1;
  int64_t whole = 1;

  double value() const { return static_cast<double>(part) / static_cast<double>(whole); }
  bool operator==(const Ratio&) const = default;
};

/// One method with its ratio. In a mix there are two of them, the virtual one last.
struct MethodSpec {
  std::string name;  ///< "FS"
  Ratio ratio;       ///< 1/1 where the method takes none

  bool operator==(const MethodSpec&) const = default;
};

/// When a sample is drawn anew.
enum class Redraw {
  kEpoch,  ///< once an epoch, the paper's static index (default)
  kStep,   ///< at every training step
  kNever,  ///< the same sample for ever
};

/// How running statistics begin.
enum class First {
  kZero,   ///< mean 0 and variance 1, as in PyTorch (default)
  kBatch,  ///< the first batch's own statistics, as in the paper
};

/// What virtual rows look like.
enum class Field {
  kWhite,     ///< independent points, as in the paper (default)
  kSpectrum,  ///< Gaussian fields with the data set's mean power spectrum
};

/// With Sync: how many processes contribute rows (BS) or carry virtual rows (VDN). Drawn anew each epoch.
struct Nodes {
  int64_t part = 0;   ///< 0: all of them
  int64_t whole = 0;  ///< `part` of `whole`; 0: as many as `part` says

  /// Of so many processes; at least 1.
  int64_t among(int64_t ranks) const;
  bool operator==(const Nodes&) const = default;
};

/// A parsed notation. to_string() and parse() are inverse to each other.
struct Spec {
  std::vector<MethodSpec> methods;

  double beta = 0.5;            ///< weight of the virtual rows in a mix, in [0, 1]
  std::optional<double> decay;  ///< alpha of the moving average, in (0, 1]; unset: the layer's `momentum`
  First first = First::kZero;
  Redraw redraw = Redraw::kEpoch;
  int64_t stat_batch = 0;  ///< real rows normalized together; 0: the whole batch
  /// Points a channel that a sample has at least, where the layer has them: the ratio grows until it is so. Unset: the
  /// method's own, 1024 for LS and 2 for the paper's methods. Virtual rows do not count.
  std::optional<int64_t> least;
  Field field = Field::kWhite;
  Nodes nodes;

  /// Virtual rows that the notation asks for: 2 for "FS-1/64+VDN-2/128", 0 without VDN.
  int64_t virtual_rows() const;
  bool operator==(const Spec&) const = default;
};

/// A wrong notation: the message shows the sentence, the notation and a caret below the wrong character.
class NotationError : public Error {
 public:
  NotationError(std::string_view notation, size_t position, const std::string& problem);
  size_t position() const { return position_; }  ///< index of the wrong character

 private:
  size_t position_;
};

/// Throws NotationError.
Spec parse(std::string_view notation);

/// The shortest notation that parses to `spec`.
std::string to_string(const Spec& spec);

/// The paper's spelling for tables, with percentages: "FS-1/32-3.1%". Options are left out.
std::string paper_name(const Spec& spec);

/// The sample of one layer (of one of its chunks, with stat_batch) for `key`. Throws Error where `shape` has no real
/// rows, no points, or none of the virtual rows that VDN samples. With key.ranks > 1 it is one process's part of the
/// sample: rows may be missing, and groups may be empty.
Sample draw(const Spec& spec, const Shape& shape, const Key& key);

/// Points of the largest sample that draw() can give of the shape, whatever the key but for its `ranks`.
int64_t most_points(const Spec& spec, const Shape& shape, uint64_t ranks = 1);

/// The processes, of key.ranks, that have a part in the sample; ascending.
std::vector<int> contributors(const Spec& spec, const Key& key);
/// Whether process key.rank carries virtual rows.
bool carries_virtual_rows(const Nodes& nodes, const Key& key);

/// Points in the sample over points in the shape: what the layer really got.
double sampled_fraction(const Sample& sample, const Shape& shape);

struct MethodInfo {
  std::string notation;  ///< "FS-a/b"
  std::string title;     ///< "feature sampling"
  std::string summary;
};

/// Every sampling method, in the order in which they are documented.
std::vector<MethodInfo> methods();

}  // namespace samplenorm
