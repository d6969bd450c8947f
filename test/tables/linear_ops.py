"""The rows of the Linear tables as te_quant.linear and te_quant.linear_backward."""
import re

ROLES = ("input", "weight", "output", "grad_output", "grad_input")

# What the diagnostic must speak of where a row is refused by a rule.
RULES = {
    "5.7 scaling modes": "one scaling mode",
    "5.7 2D by 2D": "2-D blocks",
    "5.7 fp8 dims": "expected the (rows of the input|last dim of the input|first dim of the weight) to be a multiple",
    "5.7 quantize dims": "cannot quantize the input: expected .* to be a multiple",
    "5.7 GEMM not possible": "last dim of the input to equal that of the weight",
    "5.7 output quantizer": "quantizer' of a native family",
    "5.7 row-scaled": "no 'output_quantizer' with a row-scaled",
    "5.3 missing quantizer": "expected 'input_quantizer'",
    "5.4 missing quantizer": "expected 'weight_quantizer'",
    "5.3 fp8 off, quantized input": "expected a plain input",
    "U-1": "with the rowwise representation",
    "H-33": "representation to gather",
    "B-2 delayed": "save_original_input to be off",
    "B-4": "not row-scaled where it is gathered",
    "B-10": "input of rank 2 or more",
    "B-12": "no 'output_quantizer' with a row-parallel",
    "B-15": "no bias with row parallelism",
    "H-13": "agree on gathering rowwise only",
    "H-21": "to be scattered, to be a multiple",
    "H-25": "no 'grad_input_quantizer' with a column-parallel",
    "L-N4 RHT bf16": "nominal dtype bf16 for 'with_rht'",
    "7.1 need X.col": "expected an input with the columnwise representation for the wgrad GEMM",
    "7.1 need dY.col": "expected a gradient with the columnwise representation for the wgrad GEMM",
    "7.1 need W.col": "expected a weight with the columnwise representation for the dgrad GEMM",
}


# Rows with a plan whose wgrad GEMM is refused, for the operands have two scaling modes (5.7): the plan leaves that to the GEMM.
REFUSED_BY_GEMM = {name: "expected A and B to be scaled alike" for name in ("B0108", "B0109", "B0110")}


# Rows that two rules refuse: the one that the verifier comes upon first.
FIRST = {"F0197": "U-1", "F0923": "5.7 scaling modes"}


# --- types -----------------------------------------------------------------------------------------------------------

def spell(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def quantizer_text(quantizer, non_tn_gemm, usage=None, **flags):
    """A quantizer attribute; `flags`: internal, optimize_for_gemm."""
    family, options = quantizer["family"], dict(quantizer["options"])
    flags = {name: value for name, value in flags.items() if value}
    if family == "custom":                               # a format of two representations, as the tables take it
        names = [name for name in ("rowwise_data", "columnwise_data") if usage in (None, "both", name.split("_")[0])]
        layout = ", ".join(f"{name} : f8E4M3FN[leading, cols]" for name in names)
        internal = ", internal = true" if flags.get("internal") else ""
        return f'#te_quant.custom<"format", layout = #te_quant.layout<{layout}>, quantize = "quantize", dequantize = "dequantize"{internal}>'
    parts = [options.pop("fp8_dtype")] if "fp8_dtype" in options else []
    for name, value in options.items():
        text = quantizer_text(value, non_tn_gemm) if isinstance(value, dict) else spell(value)
        parts.append(f"{name} = {text}")
    if usage and usage != "both":
        parts.append(f"usage = {usage}")
    if non_tn_gemm and family in ("float8_current_scaling", "float8_delayed_scaling"):
        parts.append("non_tn_gemm = true")
    parts += [f"{name} = true" for name in flags]
    return f"#te_quant.{family}<{', '.join(parts)}>" if parts else f"#te_quant.{family}"


def operand_type(operand, non_tn_gemm):
    shape = "".join(f"{dim}x" for dim in operand["shape"]) + operand["dtype"]
    if not operand.get("quantizer"):
        return f"tensor<{shape}>"
    return f"!te_quant.tensor<{shape}, {quantizer_text(operand['quantizer'], non_tn_gemm, operand['usage'])}>"


def takes(quantizer, what, usage="both"):
    """Whether quantizing takes a scale or a random state ('scale', 'rng')."""
    if quantizer is None:
        return False
    if quantizer["family"] == "hybrid":
        return any(takes(quantizer["options"][side], what) for side in ("rowwise", "columnwise") if usage in ("both", side))
    return quantizer["family"] == "float8_delayed_scaling" if what == "scale" else bool(quantizer["options"].get("stochastic_rounding"))


# --- ops -------------------------------------------------------------------------------------------------------------

def attributes(row, table):
    inputs = row["inputs"]
    flags = row["ours"].get("quantizer_flags", {}) if "output" in row["ours"] else {}
    parts = [f"activation_dtype = {inputs['activation_dtype']}"]
    for role in ROLES:
        quantizer = inputs["quantizers"].get(role)
        if quantizer:
            internal = role in ("input", "weight", "grad_output")
            text = quantizer_text(quantizer, inputs["non_tn_gemm"], **flags.get(role, {"internal": internal}))
            parts.append(f"{role}_quantizer = {text}")
    for name in ("is_grad_enabled", "input_requires_grad", "weight_requires_grad", "bias_requires_grad", "save_original_input", "cache_weight",
                 "sequence_parallel", "fsdp2", "recipe_is_custom"):
        if inputs[name] != table["input_defaults"].get(name, False):
            parts.append(f"{name} = {spell(inputs[name])}")
    for name in ("backward_override", "microbatch", "parallel_mode", "activation_recompute"):
        if inputs[name] != table["input_defaults"][name]:
            parts.append(f"{name} = #te_quant.{name}<{inputs[name]}>")
    if inputs["tp_size"] != 1:
        parts.append(f"tp_size = {inputs['tp_size']} : i64")
    return parts


def op_text(row, op, leading, groups, parts):
    """A function around the op, whose result types are left out."""
    arguments, text = [], []

    def add(type):
        arguments.append(type)
        return f"%a{len(arguments) - 1}"

    text.append(", ".join(add(type) for type in leading))
    for keyword, types in groups:
        if types:
            text.append(f"{keyword}({', '.join(add(type) for type in types)})")
    declared = ", ".join(f"%a{index}: {type}" for index, type in enumerate(arguments))
    return (f"func.func @{row['id']}({declared}) {{\n  te_quant.{op} {' '.join(text)} {{{', '.join(parts)}}} : {', '.join(arguments)}\n"
            "  return\n}\n")


def optional(operand, non_tn_gemm):
    return [operand_type(operand, non_tn_gemm)] if operand else []


def scales_and_state(quantizers, quantized):
    """The groups `scale` and `rng` for the pairs (role, usage) that are quantized."""
    scales = {role for role, usage in quantized if takes(quantizers.get(role), "scale", usage)}
    state = any(takes(quantizers.get(role), "rng", usage) for role, usage in quantized)
    return [("scale", ["tensor<1xf32>"] * len(scales)), ("rng", ["tensor<2xi64>"] if state else [])]


def forward_quantized(row):
    """What the forward op quantizes, as far as its signature depends on it."""
    inputs, ours = row["inputs"], row["ours"]
    if "output" in ours:
        quantized = [(item["operand"], item["usage"]) for item in ours["quantizes"]]
        if ours["gather"] and ours["gather"]["how"] == "high_precision_then_quantize":
            quantized.append(("input", ours["gather"]["usage"]))
        return quantized
    slot = (row.get("saved") or {}).get("weightmat") or {}
    hit = slot.get("alias") == "weight_workspace" and inputs["microbatch"] == "later" and not inputs["skip_fp8_weight_update"]
    quantized = [] if inputs["x"]["quantizer"] else [("input", "both")]
    if not inputs["w"]["quantizer"] and not hit:
        quantized.append(("weight", "both"))
    return quantized + ([("output", "rowwise")] if inputs["quantizers"].get("output") else [])


def forward_text(row, table):
    inputs = row["inputs"]
    non_tn = inputs["non_tn_gemm"]
    bias = {"shape": [inputs["w"]["shape"][0]], **inputs["bias"]} if inputs["bias"] else None
    groups = [("bias", optional(bias, non_tn)), ("workspace", optional(inputs["workspace"], non_tn)),
              ("skip_update", ["tensor<1xf32>"] if inputs["skip_fp8_weight_update"] else [])]
    groups += scales_and_state(inputs["quantizers"], forward_quantized(row))
    return op_text(row, "linear", [operand_type(inputs["x"], non_tn), operand_type(inputs["w"], non_tn)], groups, attributes(row, table))


def slot_type(row, slot, forward):
    """The type of a saved slot, by what the forward plan says."""
    inputs = row["inputs"]
    saved = forward["saved"][slot]
    if saved is None:
        return []
    if "value" in saved:
        return [saved["value"]["type"]]
    if saved["alias"] == "new_weight_workspace":
        return [forward["new_workspace"]["type"]]
    operand = {"inp": inputs["x"], "weight": inputs["w"], "weight_workspace": inputs["workspace"], "bias": inputs["bias"]}[saved["alias"]]
    if saved["alias"] == "bias":
        operand = {"shape": [inputs["w"]["shape"][0]], **operand}
    return [operand_type(operand, inputs["non_tn_gemm"])]


def backward_text(row, table, forward):
    inputs, ours = row["inputs"], row["ours"]
    shape, dtype = forward["output"]["shape"], inputs["dy"]["dtype"]
    dy = operand_type({"shape": shape, **inputs["dy"]}, inputs["non_tn_gemm"])
    groups = [(slot, slot_type(row, slot, forward)) for slot in ("input", "weightmat", "weight", "bias")]
    parts = attributes(row, table)
    if inputs["fuse_wgrad_accumulation"]:
        parts.append("fuse_wgrad_accumulation = true")
        groups.append(("accumulate", [operand_type({"shape": inputs["w"]["shape"], "dtype": inputs["main_grad_dtype"] or dtype}, False)]))
    quantized = [(item["operand"], item["usage"]) for item in ours.get("quantizes", [])]
    quantized += [(item["operand"], item["usage"]) for item in ours.get("gather", []) if item["how"] == "high_precision_then_quantize"]
    groups += scales_and_state(inputs["quantizers"], quantized)
    return op_text(row, "linear_backward", [dy], groups, parts)


# --- running ---------------------------------------------------------------------------------------------------------

DIAGNOSTIC = re.compile(r"(?:within split at [^\n]*?:(\d+) offset )?[^\n:]*:(\d+):\d+: error: ([^\n]*)")
SEPARATOR = "// -----\n"


def run_splits(chunks, run_tool, *flags, **options):
    """What the tool prints, and the errors of each (id, text): one run, each text a split."""
    done = run_tool("".join(chunk + SEPARATOR for _, chunk in chunks), "--split-input-file", *flags, **options)
    if done.returncode not in (0, 1) or "Stack dump" in done.stderr:
        raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()[:2000]}")
    found = [(int(split or 0) + int(line), message) for split, line, message in DIAGNOSTIC.findall(done.stderr)]
    errors, line = {}, 1
    for name, chunk in chunks:
        last = line + chunk.count("\n")
        errors[name] = [message for at, message in found if line <= at - 1 <= last or line <= at <= last]
        line = last + 1
    return done.stdout, errors


def outcomes(chunks, run_tool, read_json):
    """The plan, or the error, of each (id, text)."""
    text, errors = run_splits(chunks, run_tool, "--te-quant-dump-plan")
    found = {entry["id"]: entry["outcome"] for array in read_json(text) for entry in array}
    for name, messages in errors.items():
        found.setdefault(name, {"error": messages[0] if len(messages) == 1 else f"{len(messages)} diagnostics"})
    return found


# --- decomposition ---------------------------------------------------------------------------------------------------

def result_types(row, plan):
    """The types of the op's results, by what its plan says."""
    amaxes = ["tensor<1xf32>"] * len(plan["scales"])
    if "output" not in plan:
        return [plan[name]["type"] for name in ("wgrad", "dgrad", "grad_bias") if plan[name]] + amaxes
    types = [plan["output"]["type"]]
    if plan["new_workspace"]:
        types.append(plan["new_workspace"]["type"])
    elif plan["refresh_workspace"]:
        types += optional(row["inputs"]["workspace"], row["inputs"]["non_tn_gemm"])
    saved = (plan["saved"] or {}).values()
    return types + [slot["value"]["type"] for slot in saved if slot and "value" in slot] + amaxes


def with_results(text, types):
    """A function that returns the results of its op."""
    if not types:
        return text
    names = ", ".join(f"%r#{index}" for index in range(len(types))) if len(types) > 1 else "%r"
    declared = f"%r:{len(types)}" if len(types) > 1 else "%r"
    text = text.replace(") {\n  te_quant.", f") -> ({', '.join(types)}) {{\n  {declared} = te_quant.", 1)
    return text.replace("  return\n", f"  return {names} : {', '.join(types)}\n", 1)


OPERATION = re.compile(r"te_quant\.(\w+) ([^\n]*)")


def split_types(text):
    """The types of a list, which have commas of their own."""
    types, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "<([{":
            depth += 1
        elif char in ">)]}" and text[index - 1:index + 1] != "->":
            depth -= 1
        elif char == "," and not depth:
            types.append(text[start:index].strip())
            start = index + 1
    return types + [text[start:].strip()]


def decomposition_mismatch(name, plan, text):
    """None, or how a decomposed function departs from its plan: quantizes, gathers and what is left."""
    if name in REFUSED_BY_GEMM:
        return None if "func.func" not in text and REFUSED_BY_GEMM[name] in text else f"expected the GEMM to be refused, but got {text}"
    if "func.func" not in text:
        return text
    found = {}
    for op, rest in OPERATION.findall(text):
        found.setdefault(op, []).append((rest, split_types(rest.rsplit("->", 1)[-1])[0]))
    if "linear" in found or "linear_backward" in found:
        return "a linear layer is left"
    gathers = plan["gather"] if isinstance(plan["gather"], list) else [plan["gather"]] if plan["gather"] else []
    made = [(type, " into " in rest, " amax(" in rest) for rest, type in found.get("quantize", [])]
    is_composed = False
    for item in plan["quantizes"]:
        key = (item["type"], item.get("how") == "into_workspace", item["amax_reduction"])
        if key in made:
            made.remove(key)
        elif item["amax_reduction"] and any(type == item["type"] for _, type in found.get("assemble", [])):
            is_composed = True                               # its components take the amaxes
        else:
            return f"no quantize {key}, but {made}"
    listed = [item for item in plan["quantizes"] if item.get("where") == "after the gather"]
    after = [gather for gather in gathers if gather["how"] == "high_precision_then_quantize"][len(listed):]
    if not is_composed:
        for gather in after:
            fits = [key for key in made if not key[1] and not key[2] and usage_of(key[0]) == gather["usage"]]
            if not fits:
                return f"no quantize with usage {gather['usage']} after a gather, but {made}"
            made.remove(fits[0])
        if made:
            return f"quantizes that no plan has: {made}"
    gathered = [type for _, type in found.get("all_gather", [])]
    plain = sum(gather["how"] != "quantized" for gather in gathers)
    if sum(not type.startswith("!") for type in gathered) != plain:
        return f"gathers of {gathered}, expected {plain} in high precision"
    usages = [usage_of(type) for type in gathered if type.startswith("!")]
    expected = []
    for gather in gathers:
        if gather["how"] == "quantized":
            # Each representation by itself; what can be derived is not moved.
            derives = gather["usage"] == "both" and "columnwise" not in usages and "update_usage" in found
            expected += ["rowwise"] if derives else ["rowwise", "columnwise"] if gather["usage"] == "both" else [gather["usage"]]
    return None if sorted(usages) == sorted(expected) else f"gathers with usages {usages}, expected {expected}"


def usage_of(type):
    """The usage that a type says; a custom one by the names that it has."""
    if "#te_quant.custom<" in type:
        names = [side for side in ("rowwise", "columnwise") if f"{side}_data" in type]
        return names[0] if len(names) == 1 else "both"
    found = re.findall(r"\busage = (\w+)", type)
    return found[-1] if found else "both"


def decompositions(chunks, run_tool):
    """The decomposed text of each (id, text), or what is wrong."""
    text, errors = run_splits(chunks, run_tool, "--te-quant-decompose-linear", output="-")
    found = {name: f"not decomposed: {'; '.join(messages)}" for name, messages in errors.items()}
    for part in re.split(r"^// -----$", text, flags=re.M):
        name = re.search(r"func\.func @(\w+)", part)
        if name:
            found[name.group(1)] = expand_aliases(part)
    return found


def expand_aliases(text):
    """The text with `#name` and `!name` replaced by what they stand for."""
    for alias, value in re.findall(r"^([#!]\w+) = ([^\n]*)$", text, re.M)[::-1]:
        text = re.sub(re.escape(alias) + r"\b(?!\.)", lambda _: value, text)
    return text
