import type { EndpointFidelity, FieldFidelity, Handling } from '../../core/fidelity.ts';
import { samplingFields } from '../../core/sampling-fields.ts';

const each = (handling: Handling, fields: readonly string[], note?: string): FieldFidelity[] =>
  fields.map((field) => ({ field, handling, ...(note === undefined ? {} : { note }) }));

/** Sampling fields that need more words than the table of the samplers has. */
const samplerNotes: Readonly<Record<string, string>> = {
  rep_pen: 'the strongest of its three names counts',
  repetition_penalty: 'the strongest of its three names counts',
  repeat_penalty: 'the strongest of its three names counts',
  rep_pen_range: 'less than 1 counts as 1',
  rep_pen_slope: 'outside of 0 to 1 it counts as 1',
  sampler_seed: '0 or less draws one, which /api/extra/perf tells',
  adaptive_target: 'without min_p and top_p, min_p becomes 0.002',
  frequency_penalty: 'ours: taken off for each time a token was seen',
};

/** Every name of every sampler, from the one table that the decoder reads too. */
const samplers: readonly FieldFidelity[] = Object.values(samplingFields).flatMap(({ wire }) =>
  wire.map((field, index) => {
    const note = samplerNotes[field] ?? (index > 0 ? `another name of ${wire[0]}` : undefined);
    return { field, handling: 'honoured' as const, ...(note === undefined ? {} : { note }) };
  }),
);

const projector = 'Refused where the loaded model has no projector for it (--mmproj).';

const fields: readonly FieldFidelity[] = [
  ...each('honoured', ['prompt', 'memory']),
  { field: 'max_context_length', handling: 'honoured', note: 'more than the server has counts as what it has' },
  {
    field: 'max_length',
    handling: 'honoured',
    note: 'at most 65 % of the context, 80 % after a short prompt; 0 and less write nothing',
  },
  { field: 'genkey', handling: 'honoured', note: 'a text or a number' },
  {
    field: 'stop_sequence',
    handling: 'honoured',
    note: 'one text or a list; the first 256 count, with 50,000 characters together',
  },
  { field: 'trim_stop', handling: 'honoured' },
  { field: 'quiet', handling: 'ignored', note: 'without effect in the original too' },
  {
    field: 'images',
    handling: 'honoured',
    note: `base64, with or without a data URL in front; the last 64. ${projector}`,
  },
  { field: 'audio', handling: 'honoured', note: `as images, with wav, mp3 or flac inside. ${projector}` },
  ...each('honoured', ['replace_instruct_placeholders', 'render_special', 'bypass_eos']),
  { field: 'ban_eos_token', handling: 'honoured' },
  { field: 'use_default_badwordsids', handling: 'honoured', note: 'another name of ban_eos_token, which wins' },
  { field: 'logprobs', handling: 'honoured', note: 'ten alternatives; streams leave them for last_logprobs' },
  { field: 'adapter', handling: 'honoured', note: 'defaults of temperature, top_k, top_p and min_p' },
  { field: 'reasoning_effort', handling: 'honoured', note: 'where the vocabulary has tags for thinking' },
  { field: 'thinking_budget_tokens', handling: 'honoured', note: 'where reasoning_effort sets no budget' },
  ...samplers,
  { field: 'sampler_order', handling: 'honoured', note: 'one to seven numbers; otherwise the default order' },
  { field: 'dry_sequence_breakers', handling: 'honoured', note: 'the first 128; each up to 40 bytes' },
  { field: 'logit_bias', handling: 'honoured', note: 'an object; the first 512; from -100 to 100' },
  { field: 'custom_token_bans', handling: 'honoured' },
  { field: 'banned_tokens', handling: 'honoured', note: 'texts; the first 768, with 50,000 characters together' },
  { field: 'banned_strings', handling: 'honoured', note: 'another name of banned_tokens, which wins' },
  {
    field: 'grammar',
    handling: 'honoured',
    note: 'GBNF or a JSON schema; one that is wrong is refused, with its line and column',
  },
  { field: 'grammar_retain_state', handling: 'honoured' },
  ...each(
    'honoured',
    ['negative_prompt', 'guidance_scale'],
    'a text and a scale other than 1 together, which are refused unless started with --enableguidance; one alone has no effect and is named in x-parley-ignored',
  ),
];

export const nativeFidelity: readonly EndpointFidelity[] = [
  { dialect: 'Native text API', endpoint: 'POST /api/v1/generate, /api/extra/generate/stream', fields },
];
