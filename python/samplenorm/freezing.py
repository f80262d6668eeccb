"""Layers whose statistics stay as they are, whatever `.train()` says."""

from samplenorm.layers import layers_of
from samplenorm.modules import Model


def freeze(model: Model, parameters: bool = False) -> Model:
    """Layers normalize by their running statistics and leave them alone until `unfreeze`, in training too. With `parameters` their
    weights and biases get no gradients either. For a part of a model, pass that part. Returns the model.

    >>> import samplenorm as sn
    >>> layer = sn.freeze(sn.BatchNorm2d(8))
    >>> layer.train().training
    False
    >>> sn.unfreeze(layer).training
    True
    """
    for layer in layers_of(model, "freeze"):
        if not layer.frozen:
            layer.mode_when_unfrozen, layer.frozen = layer.training, True
        layer.training = False
        for name, parameter in layer.named_parameters() if parameters else ():
            if parameter.requires_grad:
                parameter.requires_grad_(False)
                layer.frozen_parameters.append(name)
    return model


def unfreeze(model: Model) -> Model:
    """Ends `freeze`: layers are in the mode that the last `.train()` or `.eval()` asked for, and the parameters that it froze get
    gradients again. Returns the model."""
    for layer in layers_of(model, "unfreeze"):
        if layer.frozen:
            layer.frozen = False
            layer.train(layer.mode_when_unfrozen)
            for name in layer.frozen_parameters:
                layer.get_parameter(name).requires_grad_(True)
            layer.frozen_parameters = []
    return model
