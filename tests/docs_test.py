"""docs/extending.md is true: its method and its activation work in a copy of the sources to which they were added as it says."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["SAMPLENORM_SOURCE"])
PAGE = (SOURCE / "docs/extending.md").read_text()

# A method that breaks the page's rule: how many rows follow `begin` depends on the draw.
UNEVEN = """
#include "samplers/method.h"
namespace samplenorm {
namespace {
std::vector<Box> uneven(const Shape& shape, Ratio ratio, Stream& stream) {
  const int64_t step = ratio.whole / ratio.part;
  return {shape.all_points_of({static_cast<int64_t>(stream.below(static_cast<uint64_t>(step))), shape.rows, step})};
}
}  // namespace
extern const Method uneven_sampling;
const Method uneven_sampling = {"XS", "uneven", "every b/a-th row to the end", Mixing::kReal, true, true, uneven};
}  // namespace samplenorm
"""

METHODS = r"""
#include <cstdio>
#include "samplenorm/notation.h"
using namespace samplenorm;

int main() {
  const Spec mix = parse("CS-1/8+VDN-2/128;redraw=step");
  const Sample sample = draw(mix, {.virtual_rows = 2, .rows = 32, .height = 4, .width = 4}, {});
  std::printf("%s %d %d\n", to_string(mix).c_str(), int(sample.groups[0].points()), int(sample.groups[1].points()));

  int draws = 0;
  for (const char* ratio : {"1/1", "1/2", "2/3", "1/3", "3/7", "1/8", "5/128", "1/1000"})
    for (int64_t rows = 1; rows <= 70; ++rows) {
      const Spec spec = parse(std::string("CS-") + ratio + ";least=1");
      const Shape shape = {.virtual_rows = rows % 3, .rows = rows, .height = 2, .width = 3};
      for (uint64_t epoch = 0; epoch < 20; ++epoch, ++draws) {
        const Box box = draw(spec, shape, {.layer = 4, .epoch = epoch}).groups.at(0).boxes.at(0);
        const int64_t last = box.rows.begin + (box.rows.size() - 1) * box.rows.step;
        if (box.points() != most_points(spec, shape) || box.rows.size() < 1)
          std::printf("%s of %d rows: %d points\n", ratio, int(rows), int(box.points()));
        if (box.rows.begin < shape.virtual_rows || last >= shape.all_rows()) std::printf("%s: outside\n", ratio);
      }
    }
  std::printf("%d draws\n", draws);

  try {
    for (uint64_t epoch = 0; epoch < 20; ++epoch) draw(parse("XS-1/3"), {.rows = 10}, {.epoch = epoch});
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
}
"""

ACTIVATION = r"""
#include <cmath>
#include <cstdio>
#include "kernels/activation.h"
using namespace samplenorm;

template <class T>
void compare(const Activation& f, T tolerance) {
  for (int count = 0; count < 40; ++count) {
    T values[40], derivatives[40];
    const auto z = [&](int i) { return T(i - 20) / 4 * T(count); };
    for (int i = 0; i < count; ++i) values[i] = derivatives[i] = z(i);
    f.value(values, count);
    f.derivative(derivatives, count);
    for (int i = 0; i < count; ++i) {
      const T sum = 1 + std::abs(z(i)), value = z(i) / sum, derivative = 1 / (sum * sum);
      const double plain = f.plain_value(double(z(i)), 0), plain_derivative = f.plain_derivative(double(z(i)), 0);
      if (!(std::abs(values[i] - value) <= tolerance && std::abs(derivatives[i] - derivative) <= tolerance &&
            std::abs(plain - double(value)) <= double(tolerance) &&
            std::abs(plain_derivative - double(derivative)) <= double(tolerance)))
        std::printf("at %g: %g, %g\n", double(z(i)), double(values[i]), double(derivatives[i]));
    }
  }
}

int main() {
  const Activation f = find_activation("softsign");
  std::printf("%s, %s\n", activations().back().c_str(), f.piecewise_linear ? "piecewise linear" : "curved");
  compare<float>(f, 1e-6F);
  compare<double>(f, 1e-14);
  float at_nan = NAN;
  f.value(&at_nan, 1);
  std::printf("%d\n", std::isnan(at_nan));
}
"""


def example(section):
    """The name and the text of the file that a section shows."""
    text = re.search(rf"## {section}\n(.*?)\n## ", PAGE, re.S)[1]
    return re.search(r"\*\*1\. One file\*\*, `([\w/.]+)`", text)[1], re.search(r"```cpp\n(.*?)```", text, re.S)[1]


def replaced(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def output_of(folder, program, sources, *flags):
    (folder / "main.cc").write_text(program)
    command = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", *flags, "-I", folder / "lib", "-I", folder / "lib/include",
               folder / "main.cc", *sources, "-o", folder / "program"]
    subprocess.run(command, check=True)
    return subprocess.run([folder / "program"], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(SOURCE / "lib", tmp_path / "lib")
    return tmp_path


def test_the_made_up_method_of_the_page_works_as_written_and_one_that_breaks_its_rule_is_refused(copy):
    name, text = example("A sampling method")
    (copy / name).write_text(text)
    (copy / "lib/samplers/xs.cc").write_text(UNEVEN)
    line = re.search(r"`(METHOD\(\w+\))`", PAGE)[1]
    replaced(copy / "lib/samplers/registry.cc", "METHOD(fully_random)", f"METHOD(fully_random) {line} METHOD(uneven_sampling)")
    sources = [path for folder in ("core", "samplers") for path in (copy / "lib" / folder).glob("*.cc")
               if not path.name.endswith("_test.cc")]
    lines = output_of(copy, METHODS, sources).splitlines()
    assert lines[:-1] == ["CS-1/8+VDN-2/128;redraw=step 64 32", "11200 draws"]
    assert re.match(r"cannot sample 'XS-1/3': XS drew [34] points where other draws have [34]; "
                    r"the number of points must not depend on the draw", lines[-1])


def test_the_made_up_activation_of_the_page_works_as_written(copy):
    name, text = example("An activation")
    (copy / name).write_text(text)
    entry = re.search(r"`(DO\(\w+\))`", PAGE)[1]
    registry = copy / "lib/kernels/activations/registry.h"
    replaced(registry, "DO(GeluTanh)", f"DO(GeluTanh) {entry}")
    last = '#include "kernels/activations/silu.h"\n'
    replaced(registry, last, f'{last}#include "{name.removeprefix("lib/")}"\n')
    # Of the one instruction set that the compiler takes without being told, which spares all kernels but this file.
    output = output_of(copy, ACTIVATION, [copy / "lib/kernels/activation.cc"], "-DHWY_COMPILE_ONLY_STATIC")
    assert output == "softsign, curved\n1\n"
