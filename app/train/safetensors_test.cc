#include "train/safetensors.h"

#include <torch/torch.h>

#include <cstdlib>
#include <cstring>

#include "record/test_folder.h"

namespace samplenorm::train {
namespace {

using record::content_of;
using record::expect_error;
using record::write_content;

class SafetensorsTest : public record::TestFolder {
 protected:
  std::filesystem::path file() const { return folder_ / "some.safetensors"; }

  /// Reads a file made of this header, without padding, and this many zero bytes behind it.
  TensorFile read(const std::string& header, size_t bytes) const {
    const uint64_t length = header.size();
    std::string content(sizeof(length), '\0');
    std::memcpy(content.data(), &length, sizeof(length));
    write_content(file(), content + header + std::string(bytes, '\0'));
    return read_safetensors(file());
  }
  void expect_wrong(const std::string& header, size_t bytes, std::vector<std::string> parts) const {
    parts.push_back(file().string());
    expect_error([&] { read(header, bytes); }, parts);
  }
};

void expect_same(const TensorFile& found, const TensorFile& expected) {
  EXPECT_EQ(found.metadata, expected.metadata);
  ASSERT_EQ(found.tensors.size(), expected.tensors.size());
  for (size_t i = 0; i < found.tensors.size(); ++i) {
    const auto& [name, tensor] = expected.tensors[i];
    EXPECT_EQ(found.tensors[i].first, name);
    EXPECT_EQ(found.tensors[i].second.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_EQ(found.tensors[i].second.sizes(), tensor.sizes()) << name;
    EXPECT_TRUE(torch::equal(found.tensors[i].second, tensor)) << name;
  }
}

TensorFile every_type() {
  const auto x = torch::arange(7) - 2;
  return {{{"bool", x > 0},
           {"u8", (x + 2).to(torch::kUInt8)},
           {"f32", x.to(torch::kFloat32) / 3},
           {"i64", x * (int64_t{1} << 40)},
           {"bf16", x.to(torch::kBFloat16) / 3},
           {"f64", x.to(torch::kFloat64) / 3},
           {"f16", x.to(torch::kFloat16) / 3},
           {"i32", x.to(torch::kInt32)},
           {"scalar", torch::tensor(5)},
           {"empty", torch::zeros({0, 3})}},
          {{"key", "a \"text\"\nof lines, \xc3\xa4"}}};
}

// app/train/safetensors_test.py gives this a file that Python wrote, and reads the copy.
TEST_F(SafetensorsTest, ACopyIsTheSameInEveryType) {
  const char* given = std::getenv("SAMPLENORM_TEST_FILE");
  if (!given) write_safetensors(file(), every_type());
  const TensorFile content = read_safetensors(given ? given : file().string());
  if (!given) expect_same(content, every_type());
  write_safetensors(folder_ / "copy.safetensors", content);
  expect_same(read_safetensors(folder_ / "copy.safetensors"), content);
}

TEST_F(SafetensorsTest, StridesAreNotWritten) {
  const auto plain = torch::randn({2, 3, 4, 5});
  write_safetensors(file(), {{{"x", plain}}, {}});
  const std::string expected = content_of(file());
  write_safetensors(file(), {{{"x", plain.contiguous(torch::MemoryFormat::ChannelsLast)}}, {}});
  EXPECT_EQ(content_of(file()), expected);
  write_safetensors(file(), {{{"x", torch::cat({plain, plain}, 1).slice(1, 3).requires_grad_()}}, {}});
  EXPECT_EQ(content_of(file()), expected);
}

TEST_F(SafetensorsTest, TensorsBeginAtMultiplesOfTheirElements) {
  write_safetensors(file(), {{{"a", torch::ones({3}, torch::kBool)}, {"b", torch::ones({1}, torch::kFloat64)}}, {}});
  const std::string content = content_of(file());
  EXPECT_NE(content.find(R"("b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]})"), std::string::npos) << content;
  EXPECT_EQ((content.size() - 8 - 3) % 8, 0u);
}

TEST_F(SafetensorsTest, RefusesWhatItCannotWrite) {
  const auto x = torch::ones({1});
  const auto write = [&](const NamedTensors& tensors) {
    return [=, this] { write_safetensors(file(), {tensors, {}}); };
  };
  expect_error(write({{"a", x}, {"b", x}, {"a", x}}), {"'a'", "twice"});
  expect_error(write({{"__metadata__", x}}), {"__metadata__"});
  expect_error(write({{"a", x.to(torch::kComplexFloat)}}), {"F32", "ComplexFloat"});
  expect_error(write({{"a\xff", x}}), {"UTF-8"});
  expect_error([&] { write_safetensors(file(), {{}, {{"key", "\xff"}}}); }, {"UTF-8"});
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(SafetensorsTest, FindsATruncationAnywhere) {
  write_safetensors(file(), every_type());
  const std::string whole = content_of(file());
  for (size_t size = 0; size < whole.size(); ++size) {
    write_content(file(), whole.substr(0, size));
    EXPECT_THROW(read_safetensors(file()), Error) << size;
  }
  write_content(file(), whole + "x");
  expect_error([&] { read_safetensors(file()); }, {"something follows"});
}

TEST_F(SafetensorsTest, FindsAHeaderThatIsTooLong) {
  write_content(file(), std::string("\0\0\0\0\0\0\0\x80", 8) + "{}");
  expect_error([&] { read_safetensors(file()); }, {"at most 100000000", "9223372036854775808"});
  write_content(file(), std::string("\3\0\0\0\0\0\0\0", 8) + "{}");
  expect_error([&] { read_safetensors(file()); }, {"header of 3 bytes", "found 2", "cut off"});
}

TEST_F(SafetensorsTest, FindsGapsAndOverlaps) {
  const std::string a = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],)";
  EXPECT_EQ(read(a + R"("data_offsets":[4,8]}})", 8).tensors.size(), 2u);
  expect_wrong(a + R"("data_offsets":[5,9]}})", 9, {"'b'", "begin at 4", "found 5", "gap"});
  expect_wrong(a + R"("data_offsets":[3,7]}})", 7, {"'b'", "begin at 4", "found 3", "overlap"});
  expect_wrong(a + R"("data_offsets":[0,4]}})", 4, {"overlap"});
  expect_wrong(a + R"("data_offsets":[4,9]}})", 9, {"'b'", "4 bytes", "found 5"});
  expect_wrong(a + R"("data_offsets":[8,4]}})", 8, {"'b'", "[8,4]"});
}

TEST_F(SafetensorsTest, FindsAWrongHeader) {
  const auto entry = [](const std::string& type, const std::string& shape) {
    return "{\"a\":{\"dtype\":" + type + ",\"shape\":" + shape + ",\"data_offsets\":[0,4]}}";
  };
  EXPECT_EQ(read(entry("\"F32\"", "[1]"), 4).tensors.size(), 1u);
  expect_wrong(entry("\"F31\"", "[1]"), 4, {"'a'", "F32", "\"F31\""});
  expect_wrong(entry("1", "[1]"), 4, {"'a'", "F32"});
  expect_wrong(entry("\"F32\"", "[-1]"), 4, {"'a'", "whole numbers", "[-1]"});
  expect_wrong(entry("\"F32\"", "[1.0]"), 4, {"'a'", "whole numbers"});
  expect_wrong(entry("\"F32\"", "1"), 4, {"'a'", "array"});
  expect_wrong(entry("\"F32\"", "[4294967296,4294967296]"), 4, {"'a'", "too large"});
  expect_wrong(R"({"a":{"dtype":"U8","shape":[0]}})", 0, {"'a'", "data_offsets"});
  expect_wrong(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"b":1}})", 0, {"'a'"});
  expect_wrong(R"({"a":1})", 0, {"'a'"});
  expect_wrong(R"({"__metadata__":{"a":1}})", 0, {"__metadata__", "'a'", "string"});
  expect_wrong(R"({"__metadata__":"a"})", 0, {"__metadata__"});
  expect_wrong(R"([])", 0, {"'{'"});
  expect_wrong(R"({"a":)", 0, {"JSON"});
  expect_wrong(std::string("{}\0", 3), 0, {"zero byte"});
  expect_wrong("{} x", 0, {"JSON"});
}

TEST_F(SafetensorsTest, FindsANameThatComesTwice) {
  const std::string a = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expect_wrong("{" + a + "," + a + "}", 0, {"'a'", "twice"});
  expect_wrong(R"({"__metadata__":{"k":"1","k":"2"}})", 0, {"'k'", "twice"});
}

TEST_F(SafetensorsTest, FindsABoolThatIsNeither) {
  write_safetensors(file(), {{{"a", torch::ones({1}, torch::kBool)}}, {}});
  std::string content = content_of(file());
  content.back() = 2;
  write_content(file(), content);
  expect_error([&] { read_safetensors(file()); }, {"'a'", "BOOL"});
}

TEST_F(SafetensorsTest, AFullDiskLeavesTheEarlierFile) {
  write_safetensors(file(), every_type());
  const std::string before = content_of(file());
  {
    const record::FullDisk disk(4096);
    expect_error(
        [&] {
          write_safetensors(file(), {{{"x", torch::ones({4096})}}, {}});
        },
        {"cannot write", file().string()});
  }
  EXPECT_EQ(content_of(file()), before);
  EXPECT_FALSE(std::filesystem::exists(file().string() + ".part"));
}

TEST_F(SafetensorsTest, NamesAMissingFileAndAFolder) {
  expect_error([&] { read_safetensors(file()); }, {file().string(), "No such file"});
  expect_error([&] { read_safetensors(folder_); }, {folder_.string()});
}

}  // namespace
}  // namespace samplenorm::train
