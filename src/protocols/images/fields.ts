import type { RequestedLora } from '../../core/image.ts';
import type { Call } from '../../http/call.ts';
import { readGenkey } from '../controls/table.ts';
import * as f from '../fields.ts';
import { requestContextOf } from '../request-context.ts';
import { maxImages } from './request.ts';
import { readOptionalImage, type SentImage } from './sent-image.ts';

/** Values that are not numbers count as missing: image clients send placeholders. */
export const optionalLoose: f.Read<number | undefined> = f.orElse<number | undefined>(f.looseNumber, undefined);
export const optionalLooseWhole: f.Read<number | undefined> = f.orElse<number | undefined>(
  f.looseWholeWithin(-(2 ** 53), 2 ** 53),
  undefined,
);
export const looseSwitch: f.Read<boolean> = f.orElse(f.looseFlag, false);
const extraArgs = f.objectOf({ keep_image_gen_on_disconnect: looseSwitch });

const loraEntry = f.objectOf({ path: f.optionalText, name: f.optionalText, multiplier: optionalLoose });

/** Entries without a name or with a weight of 0 are dropped. */
const readLoras: f.Read<readonly RequestedLora[]> = f.described(
  { type: 'array', items: loraEntry.schema ?? {} },
  (value, path) =>
    (f.isAbsent(value) ? [] : f.listOf(loraEntry)(value, path))
      .map(({ path: file, name, multiplier = 1 }) => ({ name: file || name || '', weight: multiplier }))
      .filter(({ name, weight }) => name !== '' && weight !== 0),
);

export const readImages: f.Read<readonly SentImage[]> = f.described(f.picturesSchema, (value, path) => {
  const sent = f.isAbsent(value) ? [] : f.listOf(readOptionalImage)(typeof value === 'string' ? [value] : value, path);
  return sent.filter((picture) => picture !== undefined);
});

/** Drawing parameters by the names of image programs; other dialects accept them too. */
export const imageRequestFields = {
  negative_prompt: f.honoured(f.optionalText, 'Up to 3000 bytes.'),
  steps: f.honoured(optionalLoose, 'Limited to 1 to 80; by default that of the model.'),
  cfg_scale: f.honoured(optionalLoose, 'Limited to 1 to 25.'),
  seed: f.honoured(optionalLooseWhole, 'Random if negative or missing. Taken modulo 2^32.'),
  sampler_name: f.honoured(
    f.optionalText,
    'Any of its common names, also followed by the scheduler; an unknown one is named in x-parley-warnings.',
  ),
  scheduler: f.honoured(f.optionalText),
  denoising_strength: f.honoured(optionalLoose, 'Limited to 0 to 1; 0.6 by default.'),
  clip_skip: f.honoured(optionalLooseWhole, '1 and less mean none.'),
  lora: f.honoured(
    readLoras,
    'path (or name) and multiplier of each, instead of tags in the prompt. Unknown ones are named in x-parley-warnings; weights that the engine does not support are refused.',
  ),
  genkey: f.honoured(readGenkey, 'Key for /api/extra/abort.'),
  kcpp_extra_args: f.honoured(
    extraArgs,
    'keep_image_gen_on_disconnect: the drawing continues after the client disconnects.',
  ),
  keep_image_gen_on_disconnect: f.honoured(looseSwitch, 'The same at the top level, for --gendefaults.'),
};

type ContextField = 'genkey' | 'keep_image_gen_on_disconnect' | 'kcpp_extra_args';

/** A drawing that continues after its client disconnected can still be stopped by its key. */
export function imageRequestContext(call: Call, fields: f.Fields<Pick<typeof imageRequestFields, ContextField>>) {
  const continues = fields.keep_image_gen_on_disconnect || fields.kcpp_extra_args.keep_image_gen_on_disconnect;
  const requestContext = requestContextOf(call, fields.genkey);
  return {
    continues,
    requestContext: continues ? { ...requestContext, signal: new AbortController().signal } : requestContext,
  };
}

/** Parameters of other models and programs. */
export const ignoredImageFields = {
  ...f.each(['eta', 'distilled_guidance', 'distilled_cfg_scale', 'shifted_timestep', 'flow_shift'], f.ignored()),
  ...f.each(['extra_sample_args', 'ref_image_args', 'cache_mode', 'cache_options'], f.ignored()),
  ...f.each(['circular_x', 'circular_y', 'tiling'], f.ignored('Pictures do not repeat at their edges.')),
  ...f.each(
    ['frames', 'fps', 'video_output_type', 'video_start_frame', 'video_end_frame'],
    f.ignored('There is no video.'),
  ),
};

export const countNote = `Up to ${maxImages} pictures.`;
