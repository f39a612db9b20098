import type { EndpointFidelity, FieldFidelity, Handling } from '../../core/fidelity.ts';

const dialect = 'llama.cpp server';

const each = (handling: Handling, fields: readonly string[], note?: string): FieldFidelity[] =>
  fields.map((field) => ({ field, handling, ...(note === undefined ? {} : { note }) }));

/** What both ways of asking for a text share. */
const options: readonly FieldFidelity[] = [
  {
    field: 'n_predict',
    handling: 'approximated',
    note: 'less than 0 gives the server’s default length; 0 reads the prompt and writes nothing',
  },
  ...each('approximated', ['max_tokens', 'max_completion_tokens'], 'other names of n_predict, which wins'),
  ...each('ignored', ['n_keep', 'n_discard'], 'a prompt that is too long is refused, or loses its beginning'),
  { field: 'n_indent', handling: 'honoured', note: 'refused where several replies are asked for' },
  { field: 't_max_predict_ms', handling: 'honoured', note: 'refused where several replies are asked for' },
  { field: 't_max_prompt_ms', handling: 'ignored' },
  ...each('honoured', ['temperature', 'top_k', 'top_p', 'min_p', 'typical_p']),
  { field: 'typ_p', handling: 'honoured', note: 'another name of typical_p' },
  ...each('honoured', ['top_n_sigma', 'xtc_probability', 'xtc_threshold', 'dynatemp_range', 'dynatemp_exponent']),
  ...each('honoured', ['repeat_penalty', 'presence_penalty', 'frequency_penalty']),
  { field: 'repeat_last_n', handling: 'honoured', note: '-1 is the whole context, 0 switches the penalties off' },
  ...each('honoured', ['dry_multiplier', 'dry_base', 'dry_allowed_length', 'dry_sequence_breakers']),
  { field: 'dry_penalty_last_n', handling: 'honoured', note: '-1 is the whole context, 0 switches DRY off' },
  ...each('honoured', ['mirostat', 'mirostat_tau', 'mirostat_eta', 'adaptive_target', 'adaptive_decay']),
  { field: 'seed', handling: 'honoured', note: '-1 draws one; texts differ from those of llama.cpp for the same seed' },
  {
    field: 'samplers',
    handling: 'approximated',
    note: 'the named ones run in this order, but dry is always first, xtc last, min_p with top_p; unknown names do nothing',
  },
  { field: 'min_keep', handling: 'ignored' },
  { field: 'ignore_eos', handling: 'honoured' },
  { field: 'logit_bias', handling: 'honoured', note: 'pairs or an object; tokens by number or text, false forbids' },
  ...each('honoured', ['grammar', 'json_schema'], 'only one of the two'),
  { field: 'grammar_lazy', handling: 'honoured' },
  {
    field: 'grammar_triggers',
    handling: 'approximated',
    note: 'at most 64; patterns without look-around and back-references; a token without its number is looked for as text',
  },
  { field: 'preserved_tokens', handling: 'ignored' },
  ...each('honoured', ['stop', 'stream']),
  {
    field: 'n_probs',
    handling: 'approximated',
    note: 'always after sampling, and never less likely than one in ten thousand',
  },
  { field: 'logprobs', handling: 'approximated', note: 'another name of n_probs' },
  { field: 'post_sampling_probs', handling: 'honoured', note: 'changes the names; the values are such in any case' },
  { field: 'return_tokens', handling: 'honoured' },
  { field: 'response_fields', handling: 'honoured', note: 'of the last object, each under its full path' },
  {
    field: 'timings_per_token',
    handling: 'approximated',
    note: 'measured outside of the engine until the last object',
  },
  { field: 'return_progress', handling: 'approximated', note: 'tells the beginning and the end of the prompt' },
  ...each('ignored', ['verbose', 'sse_ping_interval', 'id_slot', 'n_cache_reuse', 'backend_sampling']),
  {
    field: 'n_cmpl',
    handling: 'honoured',
    note: 'beside each other where there is room; with a seed each has its own, counted up from it',
  },
  { field: 'n', handling: 'honoured', note: 'another name of n_cmpl' },
  { field: 'cache_prompt', handling: 'honoured', note: 'with false the whole prompt is computed again' },
  { field: 'lora', handling: 'refused', note: 'adapters are given at the start of the server' },
  { field: 'model', handling: 'ignored' },
];

export const completionFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /completion',
  fields: [
    {
      field: 'prompt',
      handling: 'approximated',
      note: 'texts are honoured; token numbers are turned into their text, which the model reads anew',
    },
    {
      field: 'multimodal_data',
      handling: 'honoured',
      note: 'inside of prompt, beside a prompt_string with <__media__> once for each; refused without --mmproj',
    },
    ...options,
  ],
};

export const infillFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /infill',
  fields: [
    ...each('honoured', ['input_prefix', 'input_suffix'], 'cut to the part around the gap'),
    { field: 'input_extra', handling: 'honoured' },
    { field: 'prompt', handling: 'honoured', note: 'a text' },
    ...options,
  ],
};

const tokenizeFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /tokenize',
  fields: [
    ...each('honoured', ['content', 'add_special', 'parse_special']),
    { field: 'with_pieces', handling: 'honoured', note: 'a token that is a part of a character comes as its bytes' },
  ],
};

const detokenizeFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /detokenize',
  fields: each('honoured', ['tokens']),
};

const applyTemplateFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /apply-template',
  fields: [
    { field: 'messages', handling: 'honoured' },
    { field: 'tools', handling: 'honoured', note: 'where the template is trusted with them' },
    { field: 'chat_template_kwargs', handling: 'honoured', note: 'where the model’s template is used' },
  ],
};

const embeddingFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /embedding',
  fields: each('refused', ['content', 'input', 'embd_normalize'], 'no embeddings model can be loaded yet'),
};

export const llamacppFidelity: readonly EndpointFidelity[] = [
  completionFidelity,
  infillFidelity,
  tokenizeFidelity,
  detokenizeFidelity,
  applyTemplateFidelity,
  embeddingFidelity,
];
