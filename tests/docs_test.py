"""docs/adding-a-method.md is true: its file and its one line make a method that the notation knows and draws."""

import os
import pathlib
import re
import shutil
import subprocess

SOURCE = pathlib.Path(os.environ["SAMPLENORM_SOURCE"])

PROGRAM = r"""
#include <cstdio>
#include "samplenorm/notation.h"
int main() {
  using namespace samplenorm;
  const Spec spec = parse("CS-1/8+VDN-2/128;redraw=step");
  const Sample sample = draw(spec, {.virtual_rows = 2, .rows = 32, .height = 4, .width = 4}, {});
  std::printf("%s %d %d\n", to_string(spec).c_str(), int(sample.groups[0].points()), int(sample.groups[1].points()));
}
"""


def test_the_made_up_method_of_the_page_works_as_written(tmp_path):
    page = (SOURCE / "docs/adding-a-method.md").read_text()
    name = re.search(r"`(lib/samplers/\w+\.cc)`", page)[1]
    line = re.search(r"`(METHOD\(\w+\))`", page)[1]
    shutil.copytree(SOURCE / "lib", tmp_path / "lib")
    (tmp_path / name).write_text(re.search(r"```cpp\n(.*?)```", page, re.S)[1])
    registry = tmp_path / "lib/samplers/registry.cc"
    text = registry.read_text()
    last = "METHOD(fully_random)"
    assert text.count(last) == 1
    registry.write_text(text.replace(last, f"{last} {line}"))
    (tmp_path / "main.cc").write_text(PROGRAM)

    sources = [path for folder in ("core", "samplers") for path in (tmp_path / "lib" / folder).glob("*.cc")
               if not path.name.endswith("_test.cc")]
    command = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", tmp_path / "lib", "-I", tmp_path / "lib/include",
               tmp_path / "main.cc", *sources, "-o", tmp_path / "program"]
    subprocess.run(command, check=True)
    output = subprocess.run([tmp_path / "program"], check=True, capture_output=True, text=True).stdout
    assert output == "CS-1/8+VDN-2/128;redraw=step 64 32\n"
