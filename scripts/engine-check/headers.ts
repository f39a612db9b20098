/** What C headers say about the declarations that are repeated by hand in the worker. */
export interface HeaderFacts {
  /** Result and parameters of each function, as `Kind`s: `int32(pointer, int32)`. */
  readonly functions: Readonly<Record<string, string>>;
  readonly structs: Readonly<Record<string, readonly FieldFacts[]>>;
  readonly constants: Readonly<Record<string, number>>;
}

export interface FieldFacts {
  readonly name: string;
  /** How it is passed: `int32`, `pointer`, the name of a struct. */
  readonly kind: string;
  readonly offset: number;
  readonly size: number;
}

/** Sizes in bytes on the 64-bit systems that the packages are built for; a value is aligned to its size. */
const sizes: Readonly<Record<string, number>> = {
  pointer: 8,
  int64: 8,
  uint64: 8,
  double: 8,
  int32: 4,
  uint32: 4,
  float: 4,
  int16: 2,
  uint16: 2,
  int8: 1,
  uint8: 1,
  bool: 1,
};

const plainKinds: Readonly<Record<string, string>> = {
  void: 'void',
  bool: 'bool',
  char: 'int8',
  int: 'int32',
  float: 'float',
  double: 'double',
  size_t: 'uint64',
  ...Object.fromEntries(
    [8, 16, 32, 64].flatMap((bits) => [`int${bits}`, `uint${bits}`].map((name) => [`${name}_t`, name])),
  ),
};

/** Reads the declarations of headers, which are given in the order in which they include each other. */
export function readHeaders(texts: readonly string[]): HeaderFacts {
  const text = texts.map(withoutCommentsAndMacros).join('\n');
  const definitions = macroNumbers(texts.join('\n'));
  const aliases = new Map(Object.entries(plainKinds));
  for (const [, name] of text.matchAll(/\btypedef\s[^;{}]*\(\s*\*\s*(\w+)\s*\)\s*\([^;]*\)\s*;/g))
    aliases.set(name as string, 'pointer');
  for (const [, type, name] of text.matchAll(/\btypedef\s+([^;{}()]*?[\s*])(\w+)\s*;/g))
    aliases.set(name as string, kindOf(type as string, aliases));
  const constants = readConstants(text, definitions);
  const structs: Record<string, readonly FieldFacts[]> = {};
  for (const [, name, body] of text.matchAll(/\bstruct\s+(\w+)\s*\{((?:[^{}]|\{[^{}]*\})*)\}/g)) {
    const fields = layOut(body as string, aliases, definitions);
    if (fields !== undefined) structs[name as string] = fields;
  }
  const functions: Record<string, string> = {};
  for (const [, result, name, list] of text.matchAll(
    /\b(?:LLAMA|GGML|GGML_BACKEND)_API\s+([^;(){}]*?[\s*])(\w+)\s*\(([^;{}]*?)\)\s*[;,]/g,
  )) {
    const parameters = splitParameters(list as string).map((parameter) => kindOf(withoutName(parameter), aliases));
    functions[name as string] =
      `${kindOf(result as string, aliases)}(${parameters.filter((kind) => kind !== 'void').join(', ')})`;
  }
  return { functions, structs, constants };
}

function withoutCommentsAndMacros(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, ' ')
    .replace(/\/\/[^\n]*/g, ' ')
    .replace(/^[ \t]*#(?:[^\n]*\\\n)*[^\n]*/gm, ' ');
}

function macroNumbers(text: string): ReadonlyMap<string, number> {
  const defines = text.matchAll(/^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(-?\d+|0x[\da-fA-F]+)\b/gm);
  return new Map([...defines].map(([, name, value]) => [name as string, Number(value)]));
}

/** Enumerators and macros; an enumerator whose value is an expression that is not understood is left out, with those that count on from it. */
function readConstants(text: string, macros: ReadonlyMap<string, number>): Record<string, number> {
  const constants: Record<string, number> = Object.fromEntries(macros);
  for (const [, body] of text.matchAll(/\benum\s+\w*\s*\{([^{}]*)\}/g)) {
    let next: number | undefined = 0;
    for (const entry of (body as string).split(',')) {
      const [, name, expression] = /^\s*(\w+)\s*(?:=\s*([\s\S]*?))?\s*$/.exec(entry) ?? [];
      if (name === undefined) continue;
      const value: number | undefined = expression === undefined ? next : evaluate(expression, constants);
      if (value !== undefined) constants[name] = value;
      next = value === undefined ? undefined : value + 1;
    }
  }
  return constants;
}

function evaluate(expression: string, constants: Readonly<Record<string, number>>): number | undefined {
  const [, one, shift] = /^(-?\w+)(?:\s*<<\s*(\d+))?$/.exec(expression) ?? [];
  if (one === undefined) return undefined;
  const value = /^-?\d|^0x/.test(one) ? Number(one) : constants[one];
  return value === undefined || shift === undefined ? value : value << Number(shift);
}

function layOut(
  body: string,
  aliases: ReadonlyMap<string, string>,
  macros: ReadonlyMap<string, number>,
): readonly FieldFacts[] | undefined {
  const fields: FieldFacts[] = [];
  let end = 0;
  for (const [, union, plain] of body.matchAll(/\bunion\s*\{([^{}]*)\}\s*;|([^;{}]+);/g)) {
    const members = (union ?? plain ?? '').split(';').filter((member) => member.trim() !== '');
    const parsed = members.map((member) => field(member.trim(), aliases, macros));
    if (parsed.includes(undefined)) return undefined;
    const known = parsed as NonNullable<(typeof parsed)[number]>[];
    const alignment = Math.max(...known.map(({ unit }) => unit));
    const offset = Math.ceil(end / alignment) * alignment;
    end = offset + Math.max(...known.map(({ size }) => size));
    fields.push(...known.map(({ name, kind, size }) => ({ name, kind, offset, size })));
  }
  return fields;
}

function field(declaration: string, aliases: ReadonlyMap<string, string>, macros: ReadonlyMap<string, number>) {
  const [, type, name, count] = /^([^:]*?[\s*])(\w+)\s*(?:\[\s*(\w+)\s*\])?$/.exec(declaration) ?? [];
  if (type === undefined || name === undefined) return undefined;
  const kind = kindOf(type, aliases);
  const unit = sizes[kind];
  const length = count === undefined ? 1 : (macros.get(count) ?? Number(count));
  return unit === undefined || Number.isNaN(length) ? undefined : { name, kind, unit, size: unit * length };
}

/** Splits at the commas outside of parentheses. */
function splitParameters(list: string): string[] {
  const declarations = [''];
  let depth = 0;
  for (const character of list) {
    if (character === ',' && depth === 0) declarations.push('');
    else declarations[declarations.length - 1] += character;
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
  }
  return declarations.map((part) => part.trim());
}

/** A parameter without its name, if it has one: `const char * path` becomes `const char *`. */
function withoutName(parameter: string): string {
  if (parameter.includes('(')) return 'void *';
  const [, type, array] = /^([\s\S]*?[\s*])\w+\s*(\[[^\]]*\])?$/.exec(parameter) ?? [];
  if (array !== undefined) return 'void *';
  return type !== undefined && /\w/.test(type.replace(/\b(?:const|struct|enum|unsigned)\b/g, '')) ? type : parameter;
}

function kindOf(type: string, aliases: ReadonlyMap<string, string>): string {
  if (type.includes('*')) return 'pointer';
  const tokens = type.split(/\s+/).filter((token) => token !== '' && token !== 'const' && token !== 'extern');
  const [first, second] = tokens;
  if (first === 'enum') return 'int32';
  if (first === 'struct') return second ?? 'struct';
  if (first === 'unsigned') return 'uint32';
  return aliases.get(first ?? '') ?? first ?? '';
}
