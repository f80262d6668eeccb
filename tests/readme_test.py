"""What the README tells users is true: its C++ example is examples/quick_start.cc, and a project that uses the installed
library by find_package(samplenorm) builds and runs it."""

import os
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(os.environ["SAMPLENORM_SOURCE"])
BUILD = os.environ["SAMPLENORM_BUILD"]
TORCH = os.environ["SAMPLENORM_TORCH"]


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def example(text):
    return text[text.index("#include"):].strip()


def test_readme_shows_the_example_that_is_compiled_here():
    readme = (SOURCE / "README.md").read_text()
    shown = re.search(r"```cpp\n(.*?)```", readme, re.S)[1]
    assert example(shown) == example((SOURCE / "examples/quick_start.cc").read_text())


def test_readme_shows_the_cmake_project_that_is_built_here():
    readme = (SOURCE / "README.md").read_text()
    shown = re.search(r"```cmake\n(.*?)```", readme, re.S)[1]
    built = (SOURCE / "tests/consumer/CMakeLists.txt").read_text()
    for line in shown.strip().splitlines():
        assert line.replace("my_program", "consumer").replace("main.cc", "${EXAMPLE}") in built


def test_a_project_that_finds_the_installed_library_builds_and_trains(tmp_path):
    prefix = tmp_path / "prefix"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    run("cmake", "-G", "Ninja", "-S", SOURCE / "tests/consumer", "-B", tmp_path / "build", f"-DTorch_DIR={TORCH}",
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DEXAMPLE={SOURCE / 'examples/quick_start.cc'}")
    run("cmake", "--build", tmp_path / "build")
    output = run(tmp_path / "build/consumer")
    assert re.fullmatch(r"epoch 0: loss [0-9.]+\nepoch 1: loss [0-9.]+\n", output)
