#include "samplenorm/notation.h"

#include <gtest/gtest.h>

#include <random>

#include "samplers/method.h"

namespace samplenorm {
namespace {

TEST(Notation, MethodsAreThoseOfTheDesignInItsOrder) {
  std::vector<std::string> names;
  for (const MethodInfo& info : methods()) {
    names.push_back(info.notation);
    EXPECT_FALSE(info.title.empty());
    EXPECT_FALSE(info.summary.empty());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"BN", "NS-a/b", "BS-a/b", "FS-a/b", "LS-a/b", "VDN-a/b", "FRS-a/b"}));
}

TEST(Notation, EveryMethodParses) {
  EXPECT_EQ(parse("BN").methods, (std::vector<MethodSpec>{{"BN", {1, 1}}}));
  for (const std::string name : {"NS", "BS", "FS", "LS", "VDN", "FRS"})
    EXPECT_EQ(parse(name + "-4/128").methods, (std::vector<MethodSpec>{{name, {4, 128}}}));
}

TEST(Notation, DefaultsAreThoseOfThePaperAndPyTorch) {
  const Spec spec = parse("FS-1/64+VDN-2/128");
  EXPECT_EQ(spec.beta, 0.5);
  EXPECT_FALSE(spec.decay);
  EXPECT_EQ(spec.first, First::kZero);
  EXPECT_EQ(spec.redraw, Redraw::kEpoch);
  EXPECT_EQ(spec.stat_batch, 0);
  EXPECT_FALSE(spec.least);
  EXPECT_EQ(spec.field, Field::kWhite);
}

TEST(Notation, EveryOptionIsRead) {
  const Spec spec = parse("FS-1/64+VDN-2/128;beta=0.3;decay=0.7;first=batch;redraw=step;stat_batch=4;field=spectrum");
  EXPECT_EQ(spec.beta, 0.3);
  EXPECT_EQ(spec.decay, 0.7);
  EXPECT_EQ(spec.first, First::kBatch);
  EXPECT_EQ(spec.redraw, Redraw::kStep);
  EXPECT_EQ(spec.stat_batch, 4);
  EXPECT_EQ(spec.field, Field::kSpectrum);
  EXPECT_EQ(parse("FS-1/64;redraw=never").redraw, Redraw::kNever);
}

TEST(Notation, TheShortestFormIsPrintedAsItWasWritten) {
  for (const std::string text :
       {"BN",
        "NS-4/128",
        "BS-4/128",
        "FS-1/64",
        "LS-1/64",
        "VDN-2/128",
        "FRS-1/32",
        "NS-4/128+VDN-2/128",
        "BS-4/128+VDN-2/128",
        "FS-1/64+VDN-2/128",
        "LS-1/64+VDN-2/128;beta=0.3",
        "FS-1/64+VDN-2/128;beta=0",
        "FS-1/64+VDN-2/128;beta=1",
        "BS-4/128;decay=0.7;redraw=step",
        "BN;decay=1;first=batch",
        "FRS-1/32;redraw=never",
        "BN;stat_batch=4",
        "VDN-2/128;decay=1e-05;field=spectrum",
        "LS-1/64+VDN-2/128;beta=0.3;decay=0.7;first=batch;redraw=step;stat_batch=4;field=spectrum",
        "LS-1/64;least=1",
        "LS-1/64;least=2",
        "FS-1/64;least=1",
        "BS-4/128;least=1024",
        "FRS-1/32;stat_batch=4;least=7",
        "FS-1/64+VDN-2/128;least=32;field=spectrum",
        "BS-4/128;nodes=1/4",
        "VDN-2/128;nodes=1",
        "FS-1/64+VDN-2/128;nodes=2/2"})
    EXPECT_EQ(to_string(parse(text)), text);
}

TEST(Notation, WhatSaysNothingNewIsLeftOut) {
  EXPECT_EQ(to_string(parse("FS-1/64+VDN-2/128;field=white;beta=0.50;redraw=epoch;first=zero")), "FS-1/64+VDN-2/128");
  EXPECT_EQ(to_string(parse("BN-128/128-100.0%")), "BN");
}

TEST(Notation, LeastIsPrintedWhereItIsNotTheMethodsOwn) {
  EXPECT_EQ(to_string(parse("LS-1/64;least=1024")), "LS-1/64");
  EXPECT_EQ(parse("LS-1/64;least=1024"), parse("LS-1/64"));
  EXPECT_EQ(to_string(parse("VDN-2/128+LS-1/64;least=1024")), "LS-1/64+VDN-2/128");
  for (const std::string method : {"NS-4/128", "BS-4/128", "FS-1/64", "FRS-1/32"}) {
    EXPECT_EQ(to_string(parse(method + ";least=2")), method);
    EXPECT_EQ(parse(method + ";least=1024").least, 1024);
  }
  EXPECT_EQ(parse("LS-1/64;least=2").least, 2);
  EXPECT_FALSE(parse("LS-1/64").least);
}

TEST(Notation, AMixIsPrintedWithItsRealPartFirst) {
  for (const std::string real : {"NS-4/128", "BS-4/128", "FS-1/64", "LS-1/64"}) {
    EXPECT_EQ(to_string(parse("VDN-2/128+" + real)), real + "+VDN-2/128");
    EXPECT_EQ(parse("VDN-2/128+" + real), parse(real + "+VDN-2/128"));
  }
}

TEST(Notation, ThePapersSpellingWithAPercentageParses) {
  EXPECT_EQ(parse("FS-1/32-3.1%"), parse("FS-1/32"));
  EXPECT_EQ(parse("FS-1/32-3%"), parse("FS-1/32"));
  EXPECT_EQ(parse("FS-1/32-3.125%"), parse("FS-1/32"));
  EXPECT_EQ(parse("BS-1/128-0.8%"), parse("BS-1/128"));
  EXPECT_EQ(parse("BN-128/128-100.0%"), parse("BN"));
  EXPECT_EQ(parse("FS-1/64-1.6%+VDN-2/128-1.6%;beta=0.3"), parse("FS-1/64+VDN-2/128;beta=0.3"));
}

TEST(Notation, PaperNameHasPercentagesAndNoOptions) {
  EXPECT_EQ(paper_name(parse("FS-1/32")), "FS-1/32-3.1%");
  EXPECT_EQ(paper_name(parse("BS-1/128;decay=0.7")), "BS-1/128-0.8%");
  EXPECT_EQ(paper_name(parse("VDN-2/128+FS-1/64;beta=0.3")), "FS-1/64-1.6%+VDN-2/128-1.6%");
  EXPECT_EQ(paper_name(parse("BN")), "BN");
}

TEST(Notation, VirtualRowsAreTheFirstNumberOfVDN) {
  EXPECT_EQ(parse("VDN-2/128").virtual_rows(), 2);
  EXPECT_EQ(parse("VDN-3/128+FS-1/64").virtual_rows(), 3);
  EXPECT_EQ(parse("FS-1/64").virtual_rows(), 0);
  EXPECT_EQ(parse("BN").virtual_rows(), 0);
}

/// Any spec that a notation can express.
Spec random_spec(std::mt19937_64& random) {
  const auto chance = [&] { return random() % 2 == 0; };
  const auto fraction = [&] { return static_cast<double>(random() % 1'000'001) / 1e6 / (chance() ? 1 : 977); };
  Spec spec;
  const auto add = [&](const Method& method) {
    const auto whole = static_cast<int64_t>(1 + random() % (chance() ? 128 : 1'000'000'000));
    Ratio ratio{static_cast<int64_t>(1 + random() % static_cast<uint64_t>(whole)), whole};
    spec.methods.push_back({std::string(method.name), method.takes_ratio ? ratio : Ratio{}});
  };
  const Method& method = *registry()[random() % registry().size()];
  add(method);
  const bool is_mix = method.mixing == Mixing::kReal && chance();
  if (is_mix) add(*find_method("VDN"));
  if (is_mix) spec.beta = fraction();
  if (method.draws) spec.redraw = static_cast<Redraw>(random() % 3);
  if (spec.virtual_rows() > 0) spec.field = static_cast<Field>(random() % 2);
  if (chance()) spec.decay = fraction() + 1e-9 > 1 ? 1 : fraction() / 2 + 1e-9;
  if (chance()) spec.first = First::kBatch;
  if (method.few_nodes_suffice || is_mix) spec.nodes = chance() ? Nodes{} : Nodes{3, chance() ? 0 : 7};
  if (chance()) spec.stat_batch = static_cast<int64_t>(1 + random() % 1'000'000'000'000);
  if (method.takes_ratio && method.mixing != Mixing::kVirtual && chance()) {
    spec.least = static_cast<int64_t>(1 + random() % (chance() ? 3 : 1'000'000'000'000));
    if (spec.least == method.least) spec.least.reset();
  }
  return spec;
}

TEST(Notation, ParseUndoesToStringForRandomSpecs) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const Spec spec = random_spec(random);
    ASSERT_EQ(parse(to_string(spec)), spec) << to_string(spec);
  }
}

}  // namespace
}  // namespace samplenorm
