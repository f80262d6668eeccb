"""The training step of `samplenorm bench step` as one writes it in Python: torch.nn's layers, channels_last, SGD, and
otherwise PyTorch's defaults. It takes its turns with the program, which starts it:

    samplenorm bench step --rival "python=.venv/bin/python bench/step_in_python.py"

The argument is a file of safetensors with the images, the labels and the weights; the model's name is in its metadata.
Every line of standard input is a request ("forward", "backward", "release", "loss") and gets one line of answer.
"""

import sys

import torch
from safetensors import safe_open
from torch import nn
from torch.nn import functional

CIFAR_DEPTHS = (20, 32, 44, 56, 110)
STAGES = {"resnet18": (2, 2, 2, 2), "resnet34": (3, 4, 6, 3), "resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3)}
BOTTLENECKS = ("resnet50", "resnet101")


def convolution(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


def projection(inputs, outputs, stride):
    return nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


class Basic(nn.Module):
    expansion = 1

    def __init__(self, inputs, width, stride, padded=False):
        super().__init__()
        self.conv1, self.bn1 = convolution(inputs, width, 3, stride), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = convolution(width, width, 3), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.stride, self.added_channels = stride, width - inputs
        self.downsample = None
        if not padded and (stride != 1 or inputs != width):
            self.downsample = projection(inputs, width, stride)

    def forward(self, x):
        shortcut = x
        if self.downsample is not None:
            shortcut = self.downsample(x)
        elif self.added_channels:
            shortcut = functional.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, 0, self.added_channels))
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + shortcut)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = self.expansion * width
        self.conv1, self.bn1 = convolution(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = convolution(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = convolution(width, outputs, 1), nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = projection(inputs, outputs, stride)

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        return self.relu(self.bn3(self.conv3(y)) + shortcut)


class ResNet(nn.Module):
    """`counts` blocks of type `block` in each stage; `first` makes the first convolution, for so many channels."""

    def __init__(self, first, width, counts, block, classes, pool=None):
        super().__init__()
        self.conv1, self.bn1 = first(width), nn.BatchNorm2d(width)
        self.relu, self.pool = nn.ReLU(inplace=True), pool or nn.Identity()
        channels = width
        for stage, count in enumerate(counts):
            blocks = []
            for i in range(count):
                blocks.append(block(channels, width, 2 if stage > 0 and i == 0 else 1))
                channels = blocks[-1].expansion * width
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
            width *= 2
        self.stages = len(counts)
        self.fc = nn.Linear(channels, classes)

    def forward(self, images):
        x = self.pool(self.relu(self.bn1(self.conv1(images))))
        for stage in range(self.stages):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(functional.adaptive_avg_pool2d(x, 1).flatten(1))


def make_network(model, channels, classes):
    depth = model.removeprefix("resnet")
    if depth.isdigit() and int(depth) in CIFAR_DEPTHS:
        count = (int(depth) - 2) // 6
        return ResNet(lambda width: convolution(channels, width, 3), 16, (count,) * 3,
                      lambda *shape: Basic(*shape, padded=True), classes)
    if model in STAGES:
        return ResNet(lambda width: convolution(channels, width, 7, 2), 64, STAGES[model],
                      Bottleneck if model in BOTTLENECKS else Basic, classes, nn.MaxPool2d(3, 2, 1))
    sys.exit(f"step_in_python.py: expected a ResNet, got {model}")


class Step:
    def __init__(self, path):
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}
            metadata = file.metadata()
        self.images = tensors.pop("images").contiguous(memory_format=torch.channels_last)
        self.labels = tensors.pop("labels")
        self.network = make_network(metadata["model"], self.images.size(1), int(metadata["classes"]))
        self.network.load_state_dict({name.removeprefix("network."): tensor for name, tensor in tensors.items()})
        self.network.to(memory_format=torch.channels_last).train()
        # Rate 0, as the program has it: the weights stay what they are.
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0, momentum=0.9, weight_decay=1e-4)
        self.value = None

    def forward(self):
        self.optimizer.zero_grad()
        self.value = functional.cross_entropy(self.network(self.images), self.labels)

    def backward(self):
        self.value.backward()
        self.optimizer.step()

    def release(self):
        self.value = None

    def loss(self):
        return self.value.item()


def main():
    if len(sys.argv) != 2:
        sys.exit("step_in_python.py: expected one argument, the file of the case; `samplenorm bench step` gives it")
    step = Step(sys.argv[1])
    requests = {"forward": step.forward, "backward": step.backward, "release": step.release, "loss": step.loss}
    for line in sys.stdin:
        request = requests.get(line.strip())
        if request is None:
            sys.exit(f"step_in_python.py: expected one of {', '.join(requests)}, got {line.strip()!r}")
        answer = request()
        print("done" if answer is None else answer, flush=True)


if __name__ == "__main__":
    main()
