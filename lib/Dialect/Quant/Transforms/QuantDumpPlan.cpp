//===- QuantDumpPlan.cpp - print the plans of linear layers -===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "te/Dialect/Quant/IR/QuantLinearOps.h"
#include "te/Dialect/Quant/Transforms/Passes.h"
#include "llvm/Support/JSON.h"

namespace te::quant {
#define GEN_PASS_DEF_QUANTDUMPPLANPASS
#include "te/Dialect/Quant/Transforms/Passes.h.inc"
} // namespace te::quant

using namespace mlir;
using namespace te::quant;

namespace json = llvm::json;

static std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

static ArrayRef<int64_t> getShape(Type type) {
  if (auto spec = dyn_cast<TensorSpecType>(type))
    return spec.getShape();
  return cast<RankedTensorType>(type).getShape();
}

static json::Array describeShape(ArrayRef<int64_t> shape, StringRef firstDim) {
  json::Array dims;
  for (auto [index, dim] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(dim))
      dims.push_back(dim);
    else if (index == 0)
      dims.push_back(firstDim.str());
    else
      dims.push_back("d" + std::to_string(index));
  }
  return dims;
}

/// `firstDim`: what stands for a first dim that is dynamic.
static json::Object describe(Type type, StringRef firstDim = "d0") {
  json::Object object{{"shape", describeShape(getShape(type), firstDim)},
                      {"family", nullptr},
                      {"usage", nullptr},
                      {"kind", "plain"},
                      {"inner", json::Array{"data"}},
                      {"type", toString(type)}};
  auto spec = dyn_cast<TensorSpecType>(type);
  object["dtype"] =
      toString(spec ? spec.getNominalDtype()
                    : cast<RankedTensorType>(type).getElementType());
  if (!spec || !spec.isQuantized())
    return object;
  QuantizerAttrInterface quantizer = spec.getQuantizer();
  object["family"] = quantizer.getFamily();
  object["usage"] = stringifyUsage(quantizer.getUsage());
  object["kind"] = quantizer.getInternal() ? "bare" : "wrapper";
  json::Array inner;
  for (StringAttr name : spec.getLayout().getNames())
    inner.push_back(name.getValue());
  object["inner"] = std::move(inner);
  return object;
}

static json::Value describeOrNull(Type type) {
  return type ? json::Value(describe(type)) : json::Value(nullptr);
}

/// An extent of a tensor in terms of its dims.
static std::string describeExtent(LinearAssertion::Dim dim,
                                  ArrayRef<int64_t> shape) {
  auto name = [](size_t index) { return "d" + std::to_string(index); };
  if (dim == LinearAssertion::First)
    return name(0);
  if (dim == LinearAssertion::Last)
    return name(shape.size() - 1);
  std::string product;
  unsigned numFactors = 0;
  auto append = [&](const std::string &factor) {
    product += (numFactors++ == 0 ? "" : " * ") + factor;
  };
  int64_t known = 1;
  for (size_t index = 0; index + 1 < shape.size(); ++index) {
    if (ShapedType::isDynamic(shape[index]))
      append(name(index));
    else
      known *= shape[index];
  }
  if (known != 1)
    append(std::to_string(known));
  return numFactors > 1 ? "(" + product + ")" : product;
}

static json::Array
describe(ArrayRef<LinearAssertion> assertions,
         function_ref<ArrayRef<int64_t>(LinearRole)> getRoleShape) {
  json::Array array;
  for (const LinearAssertion &assertion : assertions) {
    std::string extent =
        describeExtent(assertion.dim, getRoleShape(assertion.role));
    if (assertion.multiple == 0)
      array.push_back(extent + " == the weight's last dim");
    else
      array.push_back(extent + " mod " + std::to_string(assertion.multiple) +
                      " == 0");
  }
  return array;
}

static json::Array describe(ArrayRef<LinearRole> roles) {
  json::Array array;
  for (LinearRole role : roles)
    array.push_back(stringifyLinearRole(role));
  return array;
}

static StringRef stringify(LinearGather::How how) {
  switch (how) {
  case LinearGather::Quantized:
    return "quantized";
  case LinearGather::HighPrecisionThenQuantize:
    return "high_precision_then_quantize";
  case LinearGather::HighPrecision:
    return "high_precision";
  }
  return "";
}

static json::Object describe(const LinearGather &gather) {
  json::Object object{{"how", stringify(gather.how)}, {"usage", nullptr}};
  if (gather.usage)
    object["usage"] = stringifyUsage(*gather.usage);
  return object;
}

static json::Object describe(const LinearQuantize &quantize) {
  return json::Object{
      {"operand", stringifyLinearRole(quantize.role)},
      {"usage", stringifyUsage(quantize.type.getQuantizer().getUsage())},
      {"amax_reduction", quantize.reducesAmax},
      {"type", toString(quantize.type)}};
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

static json::Value describe(const SavedSlot &slot) {
  switch (slot.kind) {
  case SavedSlot::None:
    return nullptr;
  case SavedSlot::Alias:
    return json::Object{{"alias", slot.alias}};
  case SavedSlot::Value:
    return json::Object{{"value", describe(slot.value)}};
  }
  return nullptr;
}

static json::Object describe(LinearOp op, const LinearForwardPlan &plan) {
  LinearConfig config = op.getConfig();
  std::string firstDim = "d0", factor = std::to_string(config.tpSize);
  if (config.gathersInput())
    firstDim = "d0 * " + factor;
  else if (plan.output.reduction == LinearReduction::ReduceScatter)
    firstDim = "d0 floordiv " + factor;
  json::Object output = describe(plan.output.output, firstDim);
  output["requires_grad"] = plan.output.requiresGrad;

  json::Array quantizes;
  for (const LinearQuantize &quantize : plan.quantizes) {
    json::Object object = describe(quantize);
    object["how"] = quantize.where == LinearQuantize::IntoWorkspace
                        ? "into_workspace"
                        : "fresh";
    quantizes.push_back(std::move(object));
  }
  json::Value saved = nullptr;
  if (!plan.saved.empty()) {
    json::Object slots;
    for (auto [name, slot] : llvm::zip(linearSlotNames, plan.saved))
      slots[name] = describe(slot);
    saved = std::move(slots);
  }
  bool isHit = plan.weight.source == LinearWeightPlan::Workspace;
  auto getRoleShape = [&](LinearRole role) {
    if (role == LinearRole::Input)
      return getShape(op.getX().getType());
    return role == LinearRole::Weight ? getShape(op.getW().getType())
                                      : getShape(plan.output.output);
  };
  json::Object outcome{
      {"output", std::move(output)},
      {"new_workspace", plan.weight.isNewWorkspace
                            ? describeOrNull(plan.weight.weightmat)
                            : json::Value(nullptr)},
      {"refresh_workspace", isHit ? json::Value(plan.weight.refreshesWorkspace)
                                  : json::Value(nullptr)},
      {"quantizes", std::move(quantizes)},
      {"gather", plan.input.gather ? json::Value(describe(*plan.input.gather))
                                   : json::Value(nullptr)},
      {"saved", std::move(saved)},
      {"owns_input", plan.saved.empty() ? json::Value(nullptr)
                                        : json::Value(plan.ownsInput())},
      {"assertions", describe(plan.assertions, getRoleShape)},
      {"scales", describe(plan.scaleRoles)},
      {"random_state", plan.takesRandomState}};
  if (plan.ignoresSaveOriginalInput)
    outcome["warnings"] = json::Array{"save_original_input ignored"};
  return outcome;
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

static StringRef stringify(LinearQuantize::Where where) {
  switch (where) {
  case LinearQuantize::Local:
    return "local";
  case LinearQuantize::IntoWorkspace:
    return "into the workspace";
  case LinearQuantize::BeforeGather:
    return "before the gather";
  case LinearQuantize::AfterGather:
    return "after the gather";
  case LinearQuantize::AtGemm:
    return "at the GEMM";
  case LinearQuantize::ForFSDP2:
    return "FSDP2";
  case LinearQuantize::OfResult:
    return "after dgrad";
  }
  return "";
}

static StringRef stringify(BiasGradSource source) {
  switch (source) {
  case BiasGradSource::None:
    return "none";
  case BiasGradSource::WgradGemm:
    return "wgrad_gemm";
  case BiasGradSource::WithQuantize:
    return "with_quantize";
  case BiasGradSource::RowSum:
    return "row_sum";
  }
  return "";
}

static json::Object describe(LinearBackwardOp op,
                             const LinearBackwardPlan &plan) {
  json::Array quantizes;
  for (const LinearQuantize &quantize : plan.quantizes) {
    json::Object object = describe(quantize);
    object["where"] = stringify(quantize.where);
    quantizes.push_back(std::move(object));
  }
  json::Array gathers;
  for (const std::optional<LinearGather> *gather :
       {&plan.gradOutputGather, &plan.inputGather})
    if (*gather) {
      json::Object object = describe(**gather);
      object["operand"] = stringifyLinearRole((*gather)->role);
      gathers.push_back(std::move(object));
    }
  json::Value wgrad = describeOrNull(plan.wgrad);
  if (plan.tiesMainGrad) {
    (*wgrad.getAsObject())["tied"] = "main_grad";
    (*wgrad.getAsObject())["accumulate"] = plan.accumulates;
  }
  json::Value gradBias = describeOrNull(plan.gradBias);
  if (plan.gradBias)
    (*gradBias.getAsObject())["source"] = stringify(plan.biasGradSource);
  auto getRoleShape = [&](LinearRole role) {
    if (role == LinearRole::Weight)
      return getShape(op.getWeight().getType());
    if (role == LinearRole::Input && op.getInput())
      return getShape(op.getInput().getType());
    return getShape(op.getDy().getType());
  };
  return json::Object{
      {"quantizes", std::move(quantizes)},
      {"gather", std::move(gathers)},
      {"wgrad", std::move(wgrad)},
      {"dgrad", describeOrNull(plan.dgrad)},
      {"grad_bias", std::move(gradBias)},
      {"assertions", describe(plan.assertions, getRoleShape)},
      {"scales", describe(plan.scaleRoles)},
      {"random_state", plan.takesRandomState}};
}

namespace {
struct QuantDumpPlanPass
    : te::quant::impl::QuantDumpPlanPassBase<QuantDumpPlanPass> {
  void runOnOperation() override {
    json::Array plans;
    auto add = [&](Operation *op, json::Object outcome) {
      auto function = op->getParentOfType<FunctionOpInterface>();
      plans.push_back(json::Object{
          {"id", function ? function.getName() : StringRef()},
          {"outcome", std::move(outcome)}});
    };
    getOperation().walk([&](Operation *op) {
      if (auto linear = dyn_cast<LinearOp>(op)) {
        if (FailureOr<LinearForwardPlan> plan = linear.getPlan();
            succeeded(plan))
          add(op, describe(linear, *plan));
      } else if (auto backward = dyn_cast<LinearBackwardOp>(op)) {
        if (FailureOr<LinearBackwardPlan> plan = backward.getPlan();
            succeeded(plan))
          add(op, describe(backward, *plan));
      }
    });
    llvm::outs() << llvm::formatv("{0:2}", json::Value(std::move(plans)))
                 << "\n";
    markAllAnalysesPreserved();
  }
};
} // namespace
