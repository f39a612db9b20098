import { samplingFields } from '../core/sampling-fields.ts';

/** What a value of `--gendefaults` must be; the words end the sentence "FIELD must be …". */
export const valueKinds = {
  number: 'a number',
  integer: 'a whole number',
  flag: 'true or false',
  text: 'a text',
  texts: 'a text or a list of texts',
  stages: 'a list of sampler numbers from 0 to 6',
  biases: 'an object from token numbers to numbers',
  bans: 'a text of token numbers with commas between',
  grammar: 'a text with GBNF or a JSON schema',
  effort: 'one of none, minimal, low, medium, high, xhigh, max',
  object: 'an object',
  list: 'a list',
} as const;
export type ValueKind = keyof typeof valueKinds;

export interface DefaultField {
  /** The native name first, which is the one that a request gets; the others mean the same in the same form. */
  readonly names: readonly [string, ...string[]];
  readonly kind: ValueKind;
  /** How other families say the same in a form of their own; a dot leads into an object. */
  readonly elsewhere: readonly string[];
  /** Likewise, where their readers put it over the native field by themselves: in the way only of what must win. */
  readonly overruling: readonly string[];
}

function field(
  kind: ValueKind,
  names: DefaultField['names'],
  elsewhere: readonly string[] = [],
  overruling: readonly string[] = [],
): DefaultField {
  return { names, kind, elsewhere, overruling };
}

const samplers = Object.values(samplingFields).map(({ wire, type }) => field(type, wire));

/** All that says how much a model may think: a request that says one of them has said it. */
const thinking = ['reasoning.effort', 'reasoning.max_tokens', 'reasoning.enabled', 'think'];
const ownThinking = ['thinking', 'output_config.effort'];

/** Every field of a text request that may have a default, with its names in all families: none means two things. */
export const textFields: readonly DefaultField[] = [
  ...samplers,
  field('stages', ['sampler_order'], [], ['samplers']),
  field('texts', ['dry_sequence_breakers']),
  field('integer', ['max_context_length', 'num_ctx']),
  field('texts', ['stop_sequence', 'stop', 'stop_sequences']),
  field('flag', ['trim_stop']),
  field('flag', ['ban_eos_token', 'use_default_badwordsids', 'ignore_eos']),
  field('flag', ['bypass_eos']),
  field('flag', ['render_special']),
  field('flag', ['replace_instruct_placeholders']),
  field('flag', ['logprobs'], ['n_probs']),
  field(
    'effort',
    ['reasoning_effort'],
    ['thinking_budget_tokens', 'reasoning_budget_tokens', ...thinking],
    ownThinking,
  ),
  field(
    'integer',
    ['thinking_budget_tokens', 'reasoning_budget_tokens'],
    ['reasoning_effort', ...thinking],
    ownThinking,
  ),
  field('biases', ['logit_bias']),
  field('bans', ['custom_token_bans']),
  field('texts', ['banned_tokens', 'banned_strings']),
  field(
    'grammar',
    ['grammar'],
    ['json_schema', 'response_format', 'format', 'text.format', 'output_config.format', 'output_format'],
  ),
  field('flag', ['grammar_retain_state']),
  field('text', ['negative_prompt']),
  field('number', ['guidance_scale']),
  field('text', ['memory']),
  field('text', ['genkey']),
  field('flag', ['quiet']),
  field('flag', ['cache_prompt']),
  field('object', ['adapter']),
  field('object', ['chat_template_kwargs']),
  field('flag', ['continue_assistant_turn']),
  field('flag', ['encapsulate_thinking']),
];

const images = (kind: ValueKind, ...names: readonly string[]): DefaultField[] =>
  names.map((name) => field(kind, [name]));

/** Those of the image API that are not text fields too. */
export const imageFields: readonly DefaultField[] = [
  ...images('text', 'prompt', 'sampler_name', 'sampler_index', 'scheduler', 'mask'),
  ...images('text', 'extra_sample_args', 'ref_image_args', 'cache_mode', 'cache_options'),
  ...images('text', 'video_start_frame', 'video_end_frame'),
  ...images('integer', 'steps', 'width', 'height', 'batch_size', 'n_iter', 'clip_skip', 'shifted_timestep'),
  ...images('integer', 'frames', 'fps', 'video_output_type'),
  ...images('number', 'cfg_scale', 'denoising_strength', 'eta', 'distilled_guidance', 'distilled_cfg_scale'),
  ...images('number', 'flow_shift', 'add_sd_step_limit', 'add_sd_cfg_limit'),
  ...images('flag', 'inpainting_mask_invert', 'enable_hr', 'send_images', 'send_as_refimg', 'keepalive'),
  ...images('flag', 'circular_x', 'circular_y', 'tiling', 'remove_limits', 'keep_image_gen_on_disconnect'),
  ...images('list', 'init_images', 'extra_images', 'lora'),
  ...images('object', 'kcpp_extra_args', 'override_settings'),
];

/** Other spellings, from the command lines of image programs. */
export const imageAliases: ReadonlyMap<string, string> = new Map([
  ['cfg-scale', 'cfg_scale'],
  ['guidance', 'distilled_guidance'],
  ['sampler', 'sampler_name'],
  ['sampling-method', 'sampler_name'],
  ['timestep-shift', 'shifted_timestep'],
  ['flow-shift', 'flow_shift'],
  ['cache-mode', 'cache_mode'],
  ['cache-options', 'cache_options'],
  ['cache-option', 'cache_options'],
  ['cache_option', 'cache_options'],
  ['extra-sample-args', 'extra_sample_args'],
  ['ref-image-args', 'ref_image_args'],
]);

/** The length of the reply has a flag of its own, `--defaultgenamt`. */
export const lengthFields: readonly string[] = [
  'max_length',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'n_predict',
  'num_predict',
];
