/** What macros of character cards stand for. They are resolved when a prompt is made and when a text is shown. */
export interface MacroValues {
  readonly user: string;
  readonly char: string;
  readonly persona?: string;
  readonly description?: string;
  readonly personality?: string;
  readonly scenario?: string;
  readonly examples?: string;
  /** The text that a prompt of a card replaces. */
  readonly original?: string;
  /** Names of all characters of a group. */
  readonly group?: string;
  readonly model?: string;
  readonly lastMessage?: string;
  readonly lastUserMessage?: string;
  readonly lastCharMessage?: string;
  readonly now: Date;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** `{{pick}}` keeps its choice while this text stays the same. */
  readonly seed?: string;
}

/** Macros may contain others; the inner ones are resolved first. */
const maxPasses = 6;
const innermost = /\{\{([^{}]*)\}\}/g;

/** Unknown macros are left as they are. */
export function resolveMacros(text: string, values: MacroValues): string {
  if (!text.includes('{{') && !/<(USER|BOT|CHAR)>/i.test(text)) return text;
  let now = text
    .replace(/<USER>/gi, () => values.user)
    .replace(/<(BOT|CHAR)>/gi, () => values.char)
    .replace(/\{\{\/\/[^{}]*\}\}\n?/g, '');
  let at = 0;
  for (let pass = 0; pass < maxPasses; pass += 1) {
    const next: string = now.replace(innermost, (whole: string, inner: string) => {
      at += 1;
      return resolvedMacro(inner, values, at) ?? whole;
    });
    if (next === now) break;
    now = next;
  }
  return now.replace(/\s*\{\{trim\}\}\s*/gi, '');
}

type TextField = Exclude<keyof MacroValues, 'now' | 'random' | 'seed' | 'group'>;
const fieldNames: readonly TextField[] = [
  ...(['user', 'char', 'persona', 'description', 'personality', 'scenario', 'original', 'model'] as const),
  ...(['lastMessage', 'lastUserMessage', 'lastCharMessage'] as const),
];
/** Macros that stand for a text as it is. */
const fields: ReadonlyMap<string, TextField> = new Map([
  ...fieldNames.map((name) => [name.toLowerCase(), name] as const),
  ['mesexamples', 'examples'],
]);

function resolvedMacro(inner: string, values: MacroValues, at: number): string | undefined {
  const [, name = '', separator = '', rest = ''] = /^\s*([\w/]+)\s*(::|:|\s|)\s*(.*?)\s*$/s.exec(inner) ?? [];
  const key = name.toLowerCase();
  const { now, random } = values;
  const field = fields.get(key);
  if (field) return values[field] ?? '';
  switch (key) {
    case 'group':
    case 'charifnotgroup':
      return values.group ?? values.char;
    case 'newline':
      return '\n';
    case 'noop':
      return '';
    case 'comment':
    case 'hidden_key':
      return separator === '' ? undefined : '';
    case 'reverse':
      return separator === '' ? undefined : [...rest].reverse().join('');
    case 'time':
      return now.toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' });
    case 'date':
      return now.toLocaleDateString(undefined, { year: 'numeric', month: 'long', day: 'numeric' });
    case 'weekday':
      return now.toLocaleDateString(undefined, { weekday: 'long' });
    case 'isotime':
      return `${two(now.getHours())}:${two(now.getMinutes())}`;
    case 'isodate':
      return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
    case 'random':
      return separator === '' ? undefined : oneOf(separator, rest, random());
    case 'pick':
      return separator === '' ? undefined : oneOf(separator, rest, fraction(`${values.seed ?? ''}|${at}|${rest}`));
    case 'roll':
    case 'dice':
      return rolled(rest, random);
    default:
      return undefined;
  }
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** `{{random::a::b}}` or `{{random:a,b}}`; a comma of a choice is written `\,`. */
function oneOf(separator: string, rest: string, share: number): string {
  const choices =
    separator === '::' || rest.includes('::')
      ? rest.split('::')
      : rest.split(/(?<!\\),/).map((choice) => choice.replaceAll('\\,', ',').trim());
  return choices[Math.floor(share * choices.length)] ?? '';
}

/** `6`, `d6` or `2d6+1`. */
function rolled(text: string, random: () => number): string | undefined {
  const dice = /^(\d{0,3})d?(\d{1,6})([+-]\d{1,6})?$/i.exec(text.includes('d') ? text : `1d${text}`);
  if (!dice) return undefined;
  const count = Number(dice[1] || 1);
  const sides = Number(dice[2]);
  let sum = Number(dice[3] ?? 0);
  for (let index = 0; index < count; index += 1) sum += 1 + Math.floor(random() * Math.max(1, sides));
  return String(sum);
}

/** A number from 0 to below 1 that depends on the text alone. */
export function fraction(text: string): number {
  let hash = 2166136261;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 2246822507);
  hash ^= hash >>> 13;
  return (hash >>> 0) / 4294967296;
}

/** A sequence of numbers that depends on the text alone: a message looks the same each time, and is sent as it is shown. */
export function seededRandom(seed: string): () => number {
  let count = 0;
  return () => {
    count += 1;
    return fraction(`${seed}#${count}`);
  };
}
