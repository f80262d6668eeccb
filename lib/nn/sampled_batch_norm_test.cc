// The modules: a drop-in for torch's BatchNorm in its state, its uses and its evaluation; samples, chunks and fusion in
// training.

#include <functional>
#include <map>
#include <sstream>

#include "nn/testing.h"
#include "samplenorm/samplenorm.h"

namespace samplenorm {
namespace {

using testing::as;
using testing::close;
using testing::Format;

torch::Tensor some_images() { return 2 * torch::randn({8, 3, 6, 5}) + 1; }

TEST(SampledBatchNorm, StateHasTheKeysShapesAndTypesOfTorchs) {
  const auto state = [](const torch::nn::Module& module) {
    std::ostringstream text;
    for (const auto& item : module.named_parameters())
      text << item.key() << item.value().sizes() << item.value().dtype() << " ";
    for (const auto& item : module.named_buffers())
      text << item.key() << item.value().sizes() << item.value().dtype() << " ";
    return text.str();
  };
  EXPECT_EQ(state(*SampledBatchNorm2d(3)), state(*torch::nn::BatchNorm2d(3)));
  EXPECT_EQ(state(*SampledBatchNorm1d(NormOptions(3).affine(false))),
            state(*torch::nn::BatchNorm1d(torch::nn::BatchNormOptions(3).affine(false))));
}

TEST(SampledBatchNorm, CheckpointsLoadBothWaysAndEvaluateAlike) {
  torch::manual_seed(1);
  SampledBatchNorm2d ours(NormOptions(3).spec("LS-1/4;least=1")), ours_again(3);
  torch::nn::BatchNorm2d theirs(3);
  ours->forward(some_images());
  {
    torch::NoGradGuard no_grad;
    ours->weight.copy_(torch::randn(3));
  }
  const auto transfer = [](const auto& from, auto& to) {
    std::stringstream file;
    torch::save(from, file);
    torch::load(to, file);
  };
  transfer(ours, theirs);
  transfer(theirs, ours_again);
  for (torch::nn::Module* module :
       {static_cast<torch::nn::Module*>(ours.get()), static_cast<torch::nn::Module*>(theirs.get()),
        static_cast<torch::nn::Module*>(ours_again.get())})
    module->eval();
  const torch::Tensor x = some_images();
  EXPECT_TRUE(torch::equal(ours->forward(x), theirs->forward(x)));
  EXPECT_TRUE(torch::equal(ours_again->forward(x), theirs->forward(x)));
}

TEST(SampledBatchNorm, WorksInASequentialAsTorchsDoes) {
  torch::nn::Sequential network(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3)),
                                SampledBatchNorm2d(NormOptions(4).spec("LS-1/4;least=1").relu(true)),
                                torch::nn::Flatten());
  EXPECT_EQ(network->forward(some_images()).dim(), 2);
}

TEST(SampledBatchNorm, PrintsItsOptions) {
  std::ostringstream text;
  text << *SampledBatchNorm2d(NormOptions(3).spec("FS-1/4").momentum(std::nullopt));
  EXPECT_EQ(text.str(),
            "SampledBatchNorm2d(3, spec=FS-1/4, eps=1e-05, momentum=None, affine=true, track_running_stats=true, "
            "activation=identity)");
}

TEST(SampledBatchNorm, ACloneIsIndependentAndDrawsTheSame) {
  SampledBatchNorm2d layer(NormOptions(3).spec("FS-1/4"));
  layer->key = {.seed = 3, .layer = 4, .epoch = 5};
  layer->forward(some_images());
  const auto copy = std::dynamic_pointer_cast<SampledBatchNorm2dImpl>(layer->clone());
  ASSERT_TRUE(copy);
  EXPECT_TRUE(torch::equal(copy->running_mean, layer->running_mean));
  EXPECT_EQ(copy->sample({8, 3, 6, 5}), layer->sample({8, 3, 6, 5}));
  copy->forward(some_images());
  EXPECT_EQ(layer->num_batches_tracked.item<int64_t>(), 1);
  EXPECT_EQ(copy->num_batches_tracked.item<int64_t>(), 2);
}

TEST(SampledBatchNorm, FusedReluAndResidualEqualTheSeparateOperations) {
  torch::manual_seed(2);
  for (const std::string& spec : testing::kEverySpec)
    for (const Format format : {Format::kContiguous, Format::kChannelsLast})
      for (const bool relu : {false, true}) {
        SCOPED_TRACE(spec);
        SampledBatchNorm fused(NormOptions(3).spec(spec).relu(relu)), plain(NormOptions(3).spec(spec));
        plain->key = fused->key;
        torch::Tensor x = as(format, some_images()).requires_grad_(), x2 = x.detach().clone().requires_grad_();
        torch::Tensor r = as(format, some_images()).requires_grad_(), r2 = r.detach().clone().requires_grad_();
        torch::Tensor y = fused->forward(x, r);
        torch::Tensor y2 = plain->forward(x2) + r2;
        if (relu) y2 = y2.relu();
        const torch::Tensor dy = torch::randn_like(y);
        y.backward(dy);
        y2.backward(dy);
        EXPECT_TRUE(close(y, y2, 1e-5, 1e-5));
        EXPECT_TRUE(close(x.grad(), x2.grad(), 1e-5, 1e-5));
        EXPECT_TRUE(close(r.grad(), r2.grad(), 0, 0));
        EXPECT_TRUE(close(fused->weight.grad(), plain->weight.grad(), 1e-5, 1e-5));
      }
}

TEST(SampledBatchNorm, ReluIsAShortFormOfAnActivation) {
  EXPECT_EQ(NormOptions(3).activation(), "identity");
  EXPECT_EQ(NormOptions(3).relu(true).activation(), "relu");
  EXPECT_EQ(NormOptions(3).activation("silu").relu(false).activation(), "identity");
  EXPECT_EQ(make_norm("FS-1/4", 3, true)->options.activation(), "relu");
  const torch::Tensor x = some_images(), residual = torch::randn_like(x);
  SampledBatchNorm by_name(NormOptions(3).spec("NS-1/2").activation("relu")),
      by_form(NormOptions(3).spec("NS-1/2").relu(true));
  EXPECT_TRUE(torch::equal(by_name->forward(x, residual), by_form->forward(x, residual)));
}

TEST(SampledBatchNorm, EveryActivationAfterAResidualTooEqualsTheSeparateOperation) {
  torch::manual_seed(6);
  const std::map<std::string, std::function<torch::Tensor(const torch::Tensor&)>> functions = {
      {"relu6", [](const torch::Tensor& z) { return torch::relu6(z); }},
      {"leaky_relu(0.3)", [](const torch::Tensor& z) { return torch::leaky_relu(z, 0.3); }},
      {"elu", [](const torch::Tensor& z) { return torch::elu(z); }},
      {"silu", [](const torch::Tensor& z) { return torch::silu(z); }},
      {"hardswish", [](const torch::Tensor& z) { return torch::hardswish(z); }},
      {"gelu", [](const torch::Tensor& z) { return torch::gelu(z); }},
      {"gelu(tanh)", [](const torch::Tensor& z) { return torch::gelu(z, "tanh"); }}};
  for (const auto& [name, function] : functions)
    for (const bool with_residual : {false, true})
      for (const bool training : {true, false}) {
        SCOPED_TRACE(::testing::Message() << name << (with_residual ? " residual" : "") << (training ? "" : " eval"));
        SampledBatchNorm ours(NormOptions(3).spec("NS-1/2").activation(name)), plain(NormOptions(3).spec("NS-1/2"));
        std::vector<torch::Tensor> gradients[2];
        std::vector<torch::Tensor> results;
        const torch::Tensor x = some_images(), residual = 3 * torch::randn_like(x), dy = torch::randn_like(x);
        for (const bool fused : {true, false}) {
          SampledBatchNorm& layer = fused ? ours : plain;
          layer->train(training);
          torch::Tensor input = x.detach().requires_grad_(), added = residual.detach().requires_grad_();
          torch::Tensor y = layer->forward(input, with_residual && fused ? added : torch::Tensor());
          if (!fused) y = function(with_residual ? y + added : y);
          results.push_back(y);
          gradients[fused] =
              torch::autograd::grad({y}, with_residual ? std::vector{input, added} : std::vector{input}, {dy});
        }
        EXPECT_TRUE(close(results[0], results[1], 1e-5, 1e-5));
        for (size_t i = 0; i < gradients[0].size(); ++i)
          EXPECT_TRUE(close(gradients[1][i], gradients[0][i], 1e-4, 1e-4)) << i;
        EXPECT_TRUE(torch::equal(ours->running_var, plain->running_var));
      }
}

TEST(SampledBatchNorm, OfAnUnknownActivationIsAnErrorThatListsThem) {
  for (const std::string name : {"tanh", "relu(1)", "leaky_relu(x)", ""}) {
    try {
      SampledBatchNorm2d layer(NormOptions(3).activation(name));
      FAIL() << "accepted " << name;
    } catch (const c10::ValueError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("expected an activation"), std::string::npos) << text;
      EXPECT_NE(text.find("hardswish"), std::string::npos) << text;
      EXPECT_NE(text.find("got \"" + name + "\""), std::string::npos) << text;
    }
  }
}

TEST(SampledBatchNorm, KeepsTheMemoryFormat) {
  const torch::Tensor x = some_images().contiguous(torch::MemoryFormat::ChannelsLast);
  for (const std::string spec : {"LS-1/4;least=1", "LS-1/4"}) {
    const NormOptions options = NormOptions(3).spec(spec);
    EXPECT_TRUE(SampledBatchNorm2d(options)->forward(x).is_contiguous(torch::MemoryFormat::ChannelsLast));
    EXPECT_TRUE(SampledBatchNorm2d(options)->forward(x.contiguous()).is_contiguous());
  }
}

TEST(SampledBatchNorm, IsTheSameToTheLastBitForAnyNumberOfThreads) {
  const torch::Tensor x = torch::randn({16, 8, 12, 12});
  const auto run = [&](int threads) {
    torch::set_num_threads(threads);
    SampledBatchNorm2d layer(NormOptions(8).spec("LS-1/16;least=1").relu(true));
    layer->key = {};
    torch::Tensor input = x.clone().requires_grad_();
    layer->forward(input).square().sum().backward();
    return input.grad();
  };
  const int threads = torch::get_num_threads();
  const torch::Tensor one = run(1), two = run(2), four = run(4);
  torch::set_num_threads(threads);
  EXPECT_TRUE(torch::equal(one, two));
  EXPECT_TRUE(torch::equal(one, four));
}

TEST(SampledBatchNorm, SamplesAreThoseItUses) {
  SampledBatchNorm2d layer(NormOptions(3).spec("FS-1/4;decay=1"));
  const torch::Tensor x = some_images();
  const Box box = layer->sample(x.sizes()).at(0).groups.at(0).boxes.at(0);
  layer->forward(x);
  const torch::Tensor patch = x.slice(2, box.heights.begin, box.heights.end).slice(3, box.widths.begin, box.widths.end);
  EXPECT_TRUE(close(layer->running_mean, patch.mean({0, 2, 3}), 1e-5, 1e-6));
  EXPECT_TRUE(close(layer->running_var, patch.var({0, 2, 3}), 1e-5, 1e-6));
}

TEST(SampledBatchNorm, LayersDrawDifferentlyAndSetSeedMakesThemReproducible) {
  const auto make = [] {
    torch::nn::Sequential model(SampledBatchNorm2d(NormOptions(3).spec("FS-1/64")),
                                SampledBatchNorm2d(NormOptions(3).spec("FS-1/64")));
    return model;
  };
  const auto sample = [](torch::nn::Sequential& model, size_t i) {
    return std::dynamic_pointer_cast<SampledBatchNormImpl>(model->ptr(i))->sample({8, 3, 64, 64});
  };
  torch::nn::Sequential first = make(), second = make();
  EXPECT_NE(sample(first, 0), sample(first, 1));
  set_seed(*first, 9);
  set_seed(*second, 9);
  EXPECT_EQ(sample(first, 0), sample(second, 0));
  EXPECT_EQ(sample(first, 1), sample(second, 1));
  const auto before = sample(first, 0);
  set_epoch(*first, 1);
  EXPECT_NE(sample(first, 0), before);
  set_epoch(*first, 0);
  EXPECT_EQ(sample(first, 0), before);
  set_seed(*first, 10);
  EXPECT_NE(sample(first, 0), before);
}

TEST(SampledBatchNorm, RedrawEachStepCountsTrainingForwardsAndResumesBySetStep) {
  SampledBatchNorm2d layer(NormOptions(1).spec("FS-1/64;redraw=step"));
  const auto now = [&] { return layer->sample({8, 1, 64, 64}); };
  const auto first = now();
  layer->forward(torch::randn({8, 1, 64, 64}));
  const auto second = now();
  EXPECT_NE(first, second);
  layer->eval();
  layer->forward(torch::randn({8, 1, 64, 64}));
  EXPECT_EQ(now(), second);
  set_step(*layer, 0);
  EXPECT_EQ(now(), first);
}

TEST(SampledBatchNorm, StatisticBatchesEqualSeparateLayersOnEachChunk) {
  torch::manual_seed(3);
  const torch::Tensor x = torch::randn({10, 3, 4, 4});
  SampledBatchNorm2d layer(NormOptions(3).spec("BN;stat_batch=4;decay=1"));
  const torch::Tensor y = layer->forward(x);
  torch::Tensor mean = torch::zeros({3}), var = torch::zeros({3});
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& part : x.split(4)) {
    parts.push_back(torch::nn::BatchNorm2d(3)->forward(part));
    mean += part.mean({0, 2, 3}) / 3;
    var += part.var({0, 2, 3}) / 3;
  }
  EXPECT_TRUE(close(y, torch::cat(parts), 1e-5, 1e-5));
  EXPECT_TRUE(close(layer->running_mean, mean, 1e-5, 1e-5));
  EXPECT_TRUE(close(layer->running_var, var, 1e-5, 1e-5));
}

TEST(SampledBatchNorm, ChunksDrawSamplesOfTheirOwn) {
  SampledBatchNorm2d layer(NormOptions(3).spec("FS-1/64;stat_batch=4"));
  const auto samples = layer->sample({10, 3, 64, 64});
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_NE(samples[0], samples[1]);
  EXPECT_EQ(samples[2].groups[0].boxes[0].rows, (Range{0, 2}));
}

TEST(RunningStatistics, DecayOfTheNotationGoesBeforeMomentum) {
  SampledBatchNorm2d layer(NormOptions(3).spec("BN;decay=0.7").momentum(0.1));
  const torch::Tensor x = some_images();
  layer->forward(x);
  EXPECT_TRUE(close(layer->running_mean, 0.7 * x.mean({0, 2, 3}), 1e-5, 1e-6));
  EXPECT_TRUE(close(layer->running_var, 0.3 + 0.7 * x.var({0, 2, 3}), 1e-5, 1e-6));
}

TEST(RunningStatistics, FirstBatchReplacesThemIfAskedFor) {
  SampledBatchNorm2d layer(NormOptions(3).spec("BN;decay=0.7;first=batch"));
  const torch::Tensor x = some_images(), x2 = some_images();
  layer->forward(x);
  EXPECT_TRUE(close(layer->running_mean, x.mean({0, 2, 3}), 1e-5, 1e-6));
  layer->forward(x2);
  EXPECT_TRUE(close(layer->running_mean, 0.3 * x.mean({0, 2, 3}) + 0.7 * x2.mean({0, 2, 3}), 1e-5, 1e-6));
}

TEST(Errors, NameTheOperatorWhatWasExpectedAndWhatItGot) {
  const auto message = [](const std::function<void()>& action) -> std::string {
    try {
      action();
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto expect = [&](const std::string& words, const std::function<void()>& action) {
    EXPECT_NE(message(action).find(words), std::string::npos) << message(action);
  };
  expect("expected 3 channels, got input size [8, 4, 2, 2]", [] {
    SampledBatchNorm2d(3)->forward(torch::ones({8, 4, 2, 2}));
  });
  expect("expected a residual like the input", [] {
    SampledBatchNorm2d(3)->forward(torch::ones({8, 3, 2, 2}), torch::ones({8, 3, 2, 1}));
  });
  expect("expected an input of float32", [] {
    SampledBatchNorm2d(3)->forward(torch::ones({8, 3, 2, 2}, torch::kInt));
  });
  expect("expected a weight of size [3]", [] {
    SampledBatchNorm2d layer(3);
    layer->weight.set_data(torch::ones({2}));
    layer->forward(torch::ones({8, 3, 2, 2}));
  });
  expect("expected a running mean of size [3]", [] {
    SampledBatchNorm2d layer(3);
    layer->running_mean.set_data(torch::ones({2}));
    layer->forward(torch::randn({8, 3, 2, 2}));
  });
  expect("is there a VirtualBatch", [] {
    SampledBatchNorm2d(NormOptions(3).spec("VDN-8/8"))->forward(torch::ones({8, 3, 2, 2}));
  });
  expect("unknown method 'XX'", [] { SampledBatchNorm2d(NormOptions(3).spec("XX-1/2")); });
}

}  // namespace
}  // namespace samplenorm
