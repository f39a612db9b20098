import fc from 'fast-check';
import { anyCharacter } from '../../src/core/testing/any-character.ts';

/** A request as a broken, careless or hostile client sends it. */
export interface FuzzCase {
  readonly path: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

const paths = [
  '/api/v1/generate',
  '/api/latest/generate',
  '/api/extra/generate/stream',
  '/api/extra/generate/check',
  '/api/extra/abort',
  '/api/extra/last_logprobs',
  '/api/extra/tokencount',
  '/api/extra/tokenize',
  '/api/extra/detokenize',
  '/api/extra/json_to_grammar',
  '/request',
] as const;

const strangeNumbers = [0, -0, -1, 1e308, -1e308, 5e-324, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 0.1, -0.5, 1e-9];
const strangeTexts = [
  '',
  'NaN',
  'Infinity',
  '-1',
  '1e999',
  'null',
  'true',
  '\u0000',
  '\ud800',
  '\uffff',
  '{{[INPUT]}}',
  '<|im_end|>',
  '🙂'.repeat(50),
];
const grammars = [
  'root ::= "a"',
  'root ::= [a-z]+',
  'root ::= root',
  'root ::= ("a"',
  'root ::= missing',
  'other ::= "x"',
  'root ::= ""',
  'root ::= "a"*',
  'root ::= [^\\x00-\\x7f]',
  'root ::= "\\u{110000}"',
  'root ::= "a"{1,99999}',
  '{"type": "object"}',
  '{"type": "string", "pattern": "("}',
  '{"$ref": "#"}',
  '{"enum": []}',
  '{"minLength": -1, "type": "string"}',
  'true',
  '[]',
];

const number = fc.oneof(fc.constantFrom(...strangeNumbers), fc.integer(), fc.double());
const text = fc.oneof(
  fc.constantFrom(...strangeTexts),
  fc.string({ unit: anyCharacter, maxLength: 60 }),
  fc.string({ maxLength: 200 }),
  // Rarely very long: up to some 100 KB.
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 100 }).map((kilobytes) => 'word '.repeat(kilobytes * 200)) },
);
const scalar = fc.oneof(number, text, fc.boolean(), fc.constant(null));
const list = fc.oneof(
  { weight: 20, arbitrary: fc.array(scalar, { maxLength: 6 }) },
  { weight: 1, arbitrary: fc.constantFrom(...[0, 'x', null, 7].map((entry) => Array(10_000).fill(entry))) },
);
const value = fc.oneof(
  { weight: 6, arbitrary: scalar },
  { weight: 2, arbitrary: list },
  { weight: 1, arbitrary: fc.dictionary(fc.string({ maxLength: 8 }), scalar, { maxKeys: 4 }) },
);

const texts = ['prompt', 'memory', 'genkey', 'negative_prompt', 'custom_token_bans', 'reasoning_effort', 'text'];
const lists = [
  'stop_sequence',
  'banned_tokens',
  'banned_strings',
  'dry_sequence_breakers',
  'sampler_order',
  'ids',
  'images',
  'messages',
];
const numbers = [
  'max_length',
  'max_context_length',
  'temperature',
  'top_k',
  'top_p',
  'min_p',
  'top_a',
  'typical',
  'tfs',
  'nsigma',
  'rep_pen',
  'rep_pen_range',
  'rep_pen_slope',
  'presence_penalty',
  'dynatemp_range',
  'dynatemp_exponent',
  'smoothing_factor',
  'smoothing_curve',
  'xtc_threshold',
  'xtc_probability',
  'adaptive_target',
  'adaptive_decay',
  'mirostat',
  'mirostat_tau',
  'mirostat_eta',
  'sampler_seed',
  'dry_multiplier',
  'dry_base',
  'dry_allowed_length',
  'dry_penalty_last_n',
  'guidance_scale',
  'thinking_budget_tokens',
  'max',
];
const flags = [
  'trim_stop',
  'render_special',
  'bypass_eos',
  'ban_eos_token',
  'logprobs',
  'grammar_retain_state',
  'special',
];

/** Mostly of the right type, so that the request gets through to where it may do harm. */
const field = fc.oneof(
  fc.tuple(fc.constantFrom(...texts), text),
  fc.tuple(fc.constantFrom(...lists), list),
  fc.tuple(fc.constantFrom('stop_sequence', 'banned_tokens'), fc.array(text, { maxLength: 4 })),
  fc.tuple(fc.constantFrom('ids', 'sampler_order'), fc.array(fc.integer({ min: -3, max: 40_000 }), { maxLength: 12 })),
  { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...numbers), number) },
  fc.tuple(fc.constantFrom(...flags), fc.boolean()),
  fc.tuple(fc.constant('grammar'), fc.constantFrom(...grammars)),
  fc.tuple(
    fc.constant('logit_bias'),
    fc.dictionary(fc.integer({ min: -2, max: 9000 }).map(String), number, { maxKeys: 5 }),
  ),
  fc.tuple(
    fc.constantFrom(...texts, ...lists, ...numbers, ...flags, 'grammar', 'logit_bias', 'adapter', 'schema'),
    value,
  ),
);
const object = fc.array(field, { maxLength: 8 }).map((fields) => JSON.stringify(Object.fromEntries(fields)));

const nested = fc
  .tuple(fc.integer({ min: 10, max: 20_000 }), fc.constantFrom(['[', ']'], ['{"a":', '}']))
  .map(([depth, [open = '', close = '']]) => `{"prompt": ${open.repeat(depth)}1${close.repeat(depth)}}`);

const broken = fc.oneof(
  object.map((json) => json.slice(0, -1)),
  object.map((json) => json.replaceAll('"', "'")),
  fc.constantFrom(
    '',
    'null',
    '[]',
    '"prompt"',
    '12',
    'NaN',
    '{"prompt": NaN}',
    '{"a": 1} trailing',
    '\ufeff{"prompt": "a"}',
  ),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Uint8Array.from(bytes)),
  fc
    .uint8Array({ maxLength: 30 })
    .map((bytes) => new Uint8Array([...Buffer.from('{"prompt": "'), ...bytes, ...Buffer.from('"}')])),
);

export const fuzzCase: fc.Arbitrary<FuzzCase> = fc.record({
  path: fc.constantFrom(...paths),
  body: fc.oneof({ weight: 12, arbitrary: object }, { weight: 2, arbitrary: broken }, { weight: 1, arbitrary: nested }),
});
