#!/usr/bin/env python3
"""Tables of expected layouts, usage transitions and Linear plans: generate inputs from them, compare results with them.

    check.py layouts gen TABLE [--out DIR]          layouts.mlir (all legal rows), errors.mlir (one refusal a split), errors.json
    check.py layouts check TABLE RESULT.json        RESULT: what te-opt --te-quant-print-layout=format=json printed for layouts.mlir
    check.py layouts run TABLE --te-opt PATH        both, and every refusal in a process of its own
    check.py quantize gen TABLE [--out DIR]         the quantize op for the layout rows: legal.mlir, illegal.mlir (one a split), illegal.json
    check.py quantize run TABLE --te-opt PATH
    check.py usage gen TABLE [--out DIR]            the same three files for update_usage
    check.py usage run TABLE --te-opt PATH
    check.py linear gen TABLE [--out DIR]           linear.mlir: the op for each row of linear_forward, one a split, in the order of the table
    check.py linear check TABLE RESULT.json         RESULT: [{"id": "F0001", "outcome": {...}}, ...] in the form of "ours"
    check.py linear run TABLE [RESULT.json] --te-opt PATH   both, and leaves RESULT; for linear_backward the slots come from the forward op of the row.
                                                    Each row that is not refused is decomposed as well, into what its plan says
    check.py show TABLE ID...                       single rows, filled in
    check.py stats TABLE                            rows per rule

The last line is 'N passed, N failed, N skipped'; the exit status is 0 when nothing failed. Standard library only.
README.md beside this file says what the columns mean.
"""
import argparse
import collections
import copy
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

import linear_ops


# --- tables ----------------------------------------------------------------------------------------------------------

def load(path):
    """The table with every row filled in."""
    with open(path) as file:
        table = json.load(file)
    if table["table"] in ("linear_forward", "linear_backward"):
        for row in table["rows"]:
            row["inputs"] = fill(row["inputs"], table)
    return table


def fill(short, table):
    """A Linear row's inputs with the recipe's quantizers and the table's defaults put in."""
    recipe = table["recipes"][short["recipe"]]
    full = copy.deepcopy(table["input_defaults"])
    full.update({key: value for key, value in short.items() if key not in ("quantizers", "x", "w", "bias", "workspace", "dy")})
    full.setdefault("fp8", recipe["fp8"])
    full.setdefault("recipe_is_custom", recipe["recipe_is_custom"])
    full["non_tn_gemm"] = full["chip"] == "sm_100"
    full["quantizers"] = {**copy.deepcopy(recipe["quantizers"]), **short.get("quantizers", {})} if full["fp8"] else {}

    def operand(name, role, wrapper=False):
        given = short.get(name)
        if given is None:
            return None
        value = {"dtype": full["activation_dtype"], "quantizer": None, **given}
        if "usage" in given or wrapper:
            value["quantizer"] = given.get("quantizer") or copy.deepcopy(recipe["quantizers"][role])
            value["kind"] = "wrapper"
        return value

    full["x"], full["w"] = operand("x", "input"), operand("w", "weight")
    full["workspace"] = operand("workspace", "weight", True)
    if full["workspace"]:
        full["workspace"].setdefault("shape", list(full["w"]["shape"]))
    full["bias"] = {"dtype": full["activation_dtype"], **short["bias"]} if short.get("bias") is not None else None
    if "dy" in table["input_defaults"]:
        full["dy"] = operand("dy", "grad_output") or {"dtype": full["activation_dtype"], "quantizer": None}
    return full


# --- dimension expressions -------------------------------------------------------------------------------------------

TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(//|[-+*/%(),]))")


def parse(text):
    """A function from the list of logical dims to the value. Affine syntax (floordiv, ceildiv, mod), Python's // and %."""
    tokens, at = [], 0
    while at < len(text.rstrip()):
        match = TOKEN.match(text, at)
        if not match:
            raise ValueError(f"cannot read '{text}' at {at}")
        tokens.append(match.group(match.lastindex))
        at = match.end()
    tokens.append("")

    def primary():
        token = tokens.pop(0)
        if token == "(":
            inner = add()
            if tokens.pop(0) != ")":
                raise ValueError(f"unbalanced '{text}'")
            return inner
        if token == "-":
            inner = primary()
            return lambda dims: -inner(dims)
        if token.isdigit():
            return lambda dims, value=int(token): value
        if token in ("ceildiv", "floordiv", "mod", "max", "min") and tokens[0] == "(":
            tokens.pop(0)
            left = add()
            if tokens.pop(0) != ",":
                raise ValueError(f"expected ',' in '{text}'")
            right = add()
            tokens.pop(0)
            return apply(token, left, right)
        if re.fullmatch(r"d\d+", token):
            return lambda dims, index=int(token[1:]): dims[index]
        if token in ("rows", "cols"):
            return rows if token == "rows" else (lambda dims: dims[-1] if dims else 1)
        raise ValueError(f"unknown '{token}' in '{text}'")

    def rows(dims):
        product = 1
        for dim in dims[:-1]:
            product *= dim
        return product

    def apply(op, left, right):
        table = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "floordiv": lambda a, b: a // b,
                 "//": lambda a, b: a // b, "/": lambda a, b: a // b, "ceildiv": lambda a, b: -(-a // b),
                 "mod": lambda a, b: a % b, "%": lambda a, b: a % b, "max": max, "min": min}
        return lambda dims: table[op](left(dims), right(dims))

    def multiply():
        left = primary()
        while tokens[0] in ("*", "//", "/", "%", "floordiv", "ceildiv", "mod"):
            left = apply(tokens.pop(0), left, primary())
        return left

    def add():
        left = multiply()
        while tokens[0] in ("+", "-"):
            left = apply(tokens.pop(0), left, multiply())
        return left

    result = add()
    if tokens != [""]:
        raise ValueError(f"left over {tokens[:-1]} in '{text}'")
    return result


@functools.lru_cache(maxsize=None)
def points(shape, asserts):
    """Values for the dynamic dims of shape that meet the assertions ('d0 mod 32 == 0')."""
    values = (0, 1, 2, 3, 16, 17, 31, 32, 33, 64, 96, 127, 128, 129, 160, 256, 384, 1024, 4096, 4097, 1 << 20)
    dynamic = [index for index, dim in enumerate(shape) if dim == "?"]
    checks = [parse(text.split("==")[0]) for text in asserts]
    state, found = 12345, []
    for attempt in range(4000):
        dims = list(shape)
        for number, index in enumerate(dynamic):
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            dims[index] = values[attempt % len(values)] if number == attempt // len(values) % len(dynamic) else values[(state >> 33) % len(values)]
        if all(check(dims) == 0 for check in checks):
            found.append(dims)
            if len(found) == 160:
                break
    return found


def same_dim(expected, given, shape, asserts):
    if isinstance(expected, int) and isinstance(given, int):
        return expected == given
    if isinstance(given, bool) or not isinstance(given, (int, str)):
        return False
    if isinstance(expected, int):                       # static by the rules: must not be left dynamic
        return given.strip().isdigit() and int(given) == expected
    if isinstance(given, int):
        return False
    try:
        left, right = parse(expected), parse(given)
        where = points(tuple(shape), tuple(asserts))
        return bool(where) and all(left(dims) == right(dims) for dims in where)
    except (ValueError, IndexError, ZeroDivisionError):
        return False


def same_shape(expected, given, shape, asserts):
    return isinstance(given, list) and len(expected) == len(given) and all(
        same_dim(a, b, shape, asserts) for a, b in zip(expected, given))


# --- layouts ---------------------------------------------------------------------------------------------------------

def layout_mismatch(row, inner):
    """None, or a line that says what differs."""
    names = [part.get("name") for part in inner]
    if names != [part["name"] for part in row["expected"]]:
        return f"names {names}, expected {[part['name'] for part in row['expected']]}"
    for want, have in zip(row["expected"], inner):
        if want["dtype"] != have.get("dtype") or not same_shape(want["shape"], have.get("shape"), row["shape"], []):
            return f"{want['name']}: {have.get('shape')} {have.get('dtype')}, expected {want['shape']} {want['dtype']}"
    return None


def layouts_check(table, result, only=None):
    by_id = collections.defaultdict(list)
    for entry in result:
        match = re.search(r"[A-Z]\d{4,}", str(entry.get("name", "")))
        if match:
            by_id[match.group()].append(entry)
    passed, failures = 0, []
    for row in table["rows"]:
        if "expected" not in row or (only is not None and row["id"] not in only):
            continue
        entries = by_id.get(row["id"])
        if not entries:
            failures.append((row, "no entry with this name"))
            continue
        why = layout_mismatch(row, entries[0].get("inner", []))
        quantizer = entries[0].get("quantizer")
        if not why and quantizer and row["family"] != "plain" and row["family"] not in str(quantizer):
            why = f"quantizer {quantizer}, expected family {row['family']}"
        if why:
            failures.append((row, why))
        else:
            passed += 1
    return passed, failures


def layouts_gen(table, out):
    os.makedirs(out, exist_ok=True)
    legal = [row for row in table["rows"] if "expected" in row and row["strict"]]
    rest = [row for row in table["rows"] if row not in legal]
    with open(os.path.join(out, "layouts.mlir"), "w") as file:
        for row in legal:
            file.write(f"func.func @{row['id']}(%arg0: {row['type']}) {{\n  return\n}}\n")
    chunks = [f"// {row['id']}: {row.get('error') or 'may be refused'}\nfunc.func @{row['id']}(%arg0: {row['type']}) {{\n  return\n}}\n" for row in rest]
    with open(os.path.join(out, "errors.mlir"), "w") as file:
        file.write("// -----\n".join(chunks))
    with open(os.path.join(out, "errors.json"), "w") as file:
        json.dump([{"split": index, "id": row["id"], "error": row.get("error"), "must_fail": "error" in row and row["strict"], "type": row["type"]}
                   for index, row in enumerate(rest)], file, indent=1)
    return legal, rest, chunks


def run_tool(te_opt, text, *flags, output=os.devnull):
    with tempfile.NamedTemporaryFile("w", suffix=".mlir", delete=False) as file:
        file.write(text)
    try:
        done = subprocess.run([te_opt, file.name, *flags, "-o", output], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    finally:
        os.unlink(file.name)
    return done


def refused(done):
    """None when it was refused as it should be, otherwise what is wrong."""
    if done.returncode == 0:
        return "accepted"
    if done.returncode < 0 or done.returncode > 1 or "Stack dump" in done.stderr or "Assertion" in done.stderr:
        return f"crashed (status {done.returncode})"
    return None if "error:" in done.stderr else "no error line"


PRINT = "--te-quant-print-layout=format=json"


def read_json(done):
    for text in (done.stdout, done.stderr):
        start = text.find("[")
        if start >= 0:
            return json.JSONDecoder().raw_decode(text[start:])[0]
    return []


def layouts_run(table, te_opt):
    with tempfile.TemporaryDirectory() as out:
        legal, rest, chunks = layouts_gen(table, out)
        with open(os.path.join(out, "layouts.mlir")) as file:
            done = run_tool(te_opt, file.read(), PRINT)
    if done.returncode:
        print(done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"status {done.returncode}")
        return 0, [(row, "the module was refused") for row in legal], 0
    passed, failures = layouts_check(table, read_json(done), {row["id"] for row in legal})
    skipped = 0
    for row, chunk in zip(rest, chunks):
        done = run_tool(te_opt, chunk, PRINT)
        why = refused(done)
        if "error" in row:
            if why and not (why == "accepted" and not row["strict"]):
                failures.append((row, why))
            elif why:
                skipped += 1
            else:
                passed += 1
        elif done.returncode == 0:
            more, bad = layouts_check(table, read_json(done), {row["id"]})
            passed += more
            failures += bad
        elif why:
            failures.append((row, why))
        else:
            skipped += 1                                # a refusal is accepted for this row
    return passed, failures, skipped


# --- quantize --------------------------------------------------------------------------------------------------------

def quantize_text(row):
    """The quantize op of ir.md into the row's type, or None where it needs more than the row says."""
    options = json.dumps(row["options"])
    if not row.get("quantize") or row["family"] == "plain" or "with_amax_reduction" in options:
        return None
    if row["family"] == "hybrid" and ("delayed" in options or "stochastic" in options):
        return None
    source = f"tensor<{''.join(f'{dim}x' for dim in row['shape'])}{row['nominal']}>"
    head = f"func.func @{row['id']}(%x: {source}"
    if row["family"] == "float8_delayed_scaling":
        return (f"{head}, %s: tensor<1xf32>) -> ({row['type']}, tensor<1xf32>) {{\n  %q, %a = te_quant.quantize %x scale(%s) : {source}, tensor<1xf32>"
                f" -> {row['type']}, tensor<1xf32>\n  return %q, %a : {row['type']}, tensor<1xf32>\n}}\n")
    if row["options"].get("stochastic_rounding"):
        head, operands, source = f"{head}, %state: tensor<2xi64>", " rng(%state)", f"{source}, tensor<2xi64>"
    else:
        operands = ""
    return f"{head}) -> {row['type']} {{\n  %q = te_quant.quantize %x{operands} : {source} -> {row['type']}\n  return %q : {row['type']}\n}}\n"


def quantize_rows(table):
    rows = [(row, text) for row in table["rows"] for text in [quantize_text(row)] if text]
    return [pair for pair in rows if pair[0]["quantize"].get("ok")], [pair for pair in rows if pair[0]["quantize"].get("refuse")]


def write_pairs(legal, illegal, reason, out):
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "legal.mlir"), "w") as file:
        file.write("".join(text for _, text in legal))
    with open(os.path.join(out, "illegal.mlir"), "w") as file:
        file.write("// -----\n".join(f"// {row['id']}: {reason(row)}\n{text}" for row, text in illegal))
    with open(os.path.join(out, "illegal.json"), "w") as file:
        json.dump([{"split": index, "id": row["id"], "reason": reason(row)} for index, (row, _) in enumerate(illegal)], file, indent=1)


def run_pairs(te_opt, legal, illegal):
    passed, failures = 0, []
    whole = run_tool(te_opt, "".join(text for _, text in legal))
    for row, text in legal if whole.returncode else []:     # find the ones that fail
        done = run_tool(te_opt, text)
        if done.returncode:
            failures.append((row, (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[0]))
    passed += len(legal) - len(failures)
    for row, text in illegal:
        why = refused(run_tool(te_opt, text))
        if why:
            failures.append((row, why))
        else:
            passed += 1
    return passed, failures


# --- usage transitions -----------------------------------------------------------------------------------------------

def usage_text(row):
    source, target = row["from_type"], row["to_type"]
    return (f"func.func @{row['id']}(%q: {source}) -> {target} {{\n  %u = te_quant.update_usage %q : {source} -> {target}\n"
            f"  return %u : {target}\n}}\n")


def usage_rows(table):
    rows = [(row, usage_text(row)) for row in table["rows"] if row["spellable"]]
    return [pair for pair in rows if pair[0]["legal"]], [pair for pair in rows if not pair[0]["legal"]]


# --- Linear ----------------------------------------------------------------------------------------------------------

IGNORED = {"reason", "rule"}


def plan_mismatch(expected, given, shape, asserts, path=""):
    """The first difference of two outcomes, or None. Keys that are only in `given` are ignored."""
    if isinstance(expected, dict):
        if not isinstance(given, dict):
            return f"{path}: {given}, expected {expected}"
        if "error" in expected:
            return None if given.get("error") else f"{path or 'outcome'}: accepted, expected an error ({expected['error']})"
        if given.get("error") and "error" not in expected:
            return f"{path or 'outcome'}: error '{given['error']}', expected none"
        for key, value in expected.items():
            if key in IGNORED:
                continue
            if key == "shape":
                if not same_shape(value, given.get("shape"), shape, asserts):
                    return f"{path}.shape: {given.get('shape')}, expected {value}"
                continue
            if key == "quantizes":
                given_list, want = given.get(key) or [], value
                order = lambda item: (item["operand"], item["usage"])
                value, given = sorted(want, key=order), {**given, key: sorted(given_list, key=order)}
            if key in ("assertions", "warnings", "quantizer_flags") and key not in given:
                continue
            why = plan_mismatch(value, given.get(key), shape, asserts, f"{path}.{key}" if path else key)
            if why:
                return why
        return None
    if isinstance(expected, list):
        if not isinstance(given, list) or len(expected) != len(given):
            return f"{path}: {given}, expected {expected}"
        for index, (left, right) in enumerate(zip(expected, given)):
            why = plan_mismatch(left, right, shape, asserts, f"{path}[{index}]")
            if why:
                return why
        return None
    return None if expected == given else f"{path}: {given}, expected {expected}"


def linear_check(table, result):
    outcomes = {entry["id"]: entry["outcome"] for entry in result}
    passed, failures = 0, []
    for row in table["rows"]:
        if row["id"] not in outcomes:
            failures.append((row, "no outcome with this id"))
            continue
        ours = row["ours"]
        why = plan_mismatch(ours, outcomes[row["id"]], row["inputs"]["x"]["shape"], [a for a in ours.get("assertions", []) if "mod" in a])
        if why:
            failures.append((row, why))
        else:
            passed += 1
    return passed, failures


def read_arrays(text):
    """The JSON arrays in the output of a tool that ran on splits."""
    arrays, decoder, at = [], json.JSONDecoder(), text.find("[")
    while at >= 0:
        array, at = decoder.raw_decode(text, at)
        arrays.append(array)
        at = text.find("[", at)
    return arrays


def linear_gen(table, out):
    os.makedirs(out, exist_ok=True)
    chunks = [(row["id"], linear_ops.forward_text(row, table)) for row in table["rows"]]
    with open(os.path.join(out, "linear.mlir"), "w") as file:
        file.write(linear_ops.SEPARATOR.join(text for _, text in chunks))
    return chunks


def linear_run(table, te_opt, result=None):
    """`result`: where the plans go, in the form that `linear check` takes."""
    tool = functools.partial(run_tool, te_opt)
    is_backward = table["table"] == "linear_backward"
    forward_of = linear_ops.forward_text
    forward = linear_ops.outcomes([(row["id"], forward_of(row, table)) for row in table["rows"]], tool, read_arrays)
    outcomes, early = forward, {}
    if is_backward:
        for row in table["rows"]:
            if forward[row["id"]].get("error"):
                early[row["id"]] = f"forward: error '{forward[row['id']]['error']}'"
            elif row["saved"]:
                plan = forward[row["id"]]
                given = {**plan["saved"], "new_weight_workspace": plan["new_workspace"]}
                early[row["id"]] = plan_mismatch(row["saved"], given, row["inputs"]["x"]["shape"], [], "saved")
        chunks = [(row["id"], linear_ops.backward_text(row, table, forward[row["id"]])) for row in table["rows"] if not forward[row["id"]].get("error")]
        outcomes = linear_ops.outcomes(chunks, tool, read_arrays)
    else:
        chunks = [(row["id"], forward_of(row, table)) for row in table["rows"]]
    texts = dict(chunks)
    plans = [(row, outcomes[row["id"]]) for row in table["rows"] if row["id"] in texts and not outcomes.get(row["id"], {"error": ""}).get("error")]
    decomposed = linear_ops.decompositions(
        [(row["id"], linear_ops.with_results(texts[row["id"]], linear_ops.result_types(row, plan))) for row, plan in plans], tool)
    for row, plan in plans:
        early[row["id"]] = early.get(row["id"]) or linear_ops.decomposition_mismatch(row["id"], plan, decomposed[row["id"]])
    dump = [{"id": name, "outcome": outcome} for name, outcome in outcomes.items()]
    if result:
        with open(result, "w") as file:
            json.dump(dump, file, indent=1)
    passed, failures = linear_check(table, dump)
    failed = {row["id"] for row, _ in failures}
    for row in table["rows"]:
        why = early.get(row["id"])
        if not why and "error" in row["ours"]:              # refused, and for the reason that the row gives
            message, rule = outcomes[row["id"]].get("error", ""), linear_ops.FIRST.get(row["id"], row["ours"]["rule"])
            if not re.search(linear_ops.RULES[rule], message):
                why = f"refused with '{message}', expected the reason of {rule}"
        if why and row["id"] not in failed:
            failures.append((row, why))
            passed -= 1
    return passed, failures


# --- commands --------------------------------------------------------------------------------------------------------

def report(passed, failures, skipped=0, limit=40):
    for row, why in failures[:limit]:
        print(f"{row['id']}: {why}   [{', '.join(row['rules'][:4])}]")
    if len(failures) > limit:
        print(f"... and {len(failures) - limit} more")
    print(f"{passed} passed, {len(failures)} failed, {skipped} skipped")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, actions in (("layouts", ("gen", "check", "run")), ("quantize", ("gen", "run")), ("usage", ("gen", "run")), ("linear", ("gen", "check", "run"))):
        command = commands.add_parser(name)
        command.add_argument("action", choices=actions)
        command.add_argument("table")
        command.add_argument("result", nargs="?", help="check: JSON to compare, '-' reads standard input; linear run: write the plans there")
        command.add_argument("--out", default=".")
        command.add_argument("--te-opt")
    commands.add_parser("stats").add_argument("table")
    show = commands.add_parser("show")
    show.add_argument("table")
    show.add_argument("ids", nargs="+")
    args = parser.parse_args()
    table = load(args.table)
    if args.command == "show":
        for row in table["rows"]:
            if row["id"] in args.ids:
                print(json.dumps(row, indent=1))
        return 0
    if args.command == "stats":
        counts = collections.Counter(rule for row in table["rows"] for rule in row["rules"])
        for rule, count in sorted(counts.items()):
            print(f"{count:6} {rule}")
        print(f"{len(table['rows'])} rows, {len(counts)} rules")
        return 0
    if args.action == "check":
        if not args.result:
            parser.error("check needs a result file")
        result = json.load(sys.stdin if args.result == "-" else open(args.result))
        return report(*(layouts_check if args.command == "layouts" else linear_check)(table, result))
    if args.action == "run" and not args.te_opt:
        parser.error("run needs --te-opt")
    if args.command == "linear":
        if args.action == "run":
            return report(*linear_run(table, args.te_opt, args.result))
        print(f"{len(linear_gen(table, args.out))} rows, one a split")
        return 0
    if args.command == "layouts":
        if args.action == "run":
            return report(*layouts_run(table, args.te_opt))
        legal, rest, _ = layouts_gen(table, args.out)
    else:
        legal, rest = (quantize_rows if args.command == "quantize" else usage_rows)(table)
        if args.action == "run":
            return report(*run_pairs(args.te_opt, legal, rest), len(table["rows"]) - len(legal) - len(rest))
        reason = (lambda row: json.dumps(row["quantize"]["refuse"][0])) if args.command == "quantize" else (lambda row: row["reason"])
        write_pairs(legal, rest, reason, args.out)
    print(f"{len(legal)} rows in one module, {len(rest)} in splits")
    return 0


if __name__ == "__main__":
    sys.exit(main())
