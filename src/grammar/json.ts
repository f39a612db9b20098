import { jsonLiteral, type Rules } from './gbnf.ts';

/**
 * `flexible`: one space, or one line break with its indentation, wherever a printer puts blanks; never more, since small
 * models otherwise write blanks until the end of their budget. `none`: no blanks at all.
 */
export type Whitespace = 'flexible' | 'none';

/** The parts of JSON that do not depend on a schema, as names or bodies ready to stand in a sequence. */
export interface JsonRules {
  readonly rules: Rules;
  /** Ends with a space when it is not empty, so that it can be put before anything. */
  blank(): string;
  character(): string;
  string(): string;
  integer(): string;
  number(): string;
  value(): string;
  object(): string;
  array(): string;
  /** `{`, `[`, `,` and so on with the blanks that may follow or precede. */
  open(bracket: '{' | '['): string;
  close(bracket: '}' | ']'): string;
  comma(): string;
  colon(): string;
  /** Exactly this value; objects keep the order of their keys. */
  exactly(value: unknown): string;
}

/** As much white space as may stand in one place. */
export const blankBody = '(" " | "\\n" [ \\t]{0,20})?';
export const booleanBody = '("true" | "false")';
export const nullBody = '"null"';
const digit = '[0-9]';

export function jsonRules(rules: Rules, whitespace: Whitespace): JsonRules {
  const blank = () => (whitespace === 'none' ? '' : `${rules.shared('blank', blankBody)} `);
  const json: JsonRules = {
    rules,
    blank,
    // Counts as one character for minLength and maxLength, so a pair of surrogates is one, and half a pair is none.
    character: () =>
      rules.named('json:character', 'character', () => {
        const hex = '[0-9a-fA-F]';
        const plane = `([0-9a-cefA-CEF] ${hex}{3} | [dD] [0-7] ${hex}{2})`;
        const pair = `[dD] [89abAB] ${hex}{2} "\\\\u" [dD] [c-fC-F] ${hex}{2}`;
        return `[^"\\\\\\x00-\\x1F] | "\\\\" (["\\\\/bfnrt] | "u" (${plane} | ${pair}))`;
      }),
    string: () => rules.named('json:string', 'string', () => `"\\"" ${json.character()}* "\\""`),
    integer: () => rules.named('json:integer', 'integer', () => `"0" | "-"? [1-9] ${digit}{0,15}`),
    number: () =>
      rules.named('json:number', 'number', () => {
        // Enough for every number a printer of doubles writes, and an end for models that loop on digits.
        const upTo299 = `${digit} | [1-9] ${digit} | [12] ${digit}{2}`;
        const positive = `"+"? (${upTo299} | "30" [0-8])`;
        const negative = `"-" (${upTo299} | "3" ([01] ${digit} | "2" [0-4]))`;
        const exponent = `([eE] (${positive} | ${negative}))?`;
        return `"-"? ("0" | [1-9] ${digit}{0,20}) ("." ${digit}{1,24})? ${exponent}`;
      }),
    value: () =>
      rules.named('json:value', 'value', () =>
        [json.object(), json.array(), json.string(), json.number(), booleanBody, nullBody].join(' | '),
      ),
    object: () =>
      rules.named('json:object', 'object', () => {
        const member = rules.named('json:member', 'member', () => `${json.string()} ${json.colon()} ${json.value()}`);
        return `${json.open('{')} (${member} (${json.comma()} ${member})* ${blank()})? "}"`;
      }),
    array: () =>
      rules.named('json:array', 'array', () => {
        const item = json.value();
        return `${json.open('[')} (${item} (${json.comma()} ${item})* ${blank()})? "]"`;
      }),
    open: (bracket) => `"${bracket}" ${blank()}`.trimEnd(),
    close: (bracket) => `${blank()}"${bracket}"`,
    comma: () => `"," ${blank()}`.trimEnd(),
    colon: () => `":" ${blank()}`.trimEnd(),
    exactly: (value) => {
      if (typeof value !== 'object' || value === null) return jsonLiteral(value);
      if (Array.isArray(value)) {
        const items = value.map(json.exactly).join(` ${json.comma()} `);
        return items === '' ? '"[" "]"' : `${json.open('[')} ${items} ${json.close(']')}`;
      }
      const members = Object.entries(value)
        .map(([key, member]) => `${jsonLiteral(key)} ${json.colon()} ${json.exactly(member)}`)
        .join(` ${json.comma()} `);
      return members === '' ? '"{" "}"' : `${json.open('{')} ${members} ${json.close('}')}`;
    },
  };
  return json;
}
