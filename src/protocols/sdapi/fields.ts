import type { Fit } from '../../core/image-editing.ts';
import * as f from '../fields.ts';
import {
  countNote,
  ignoredImageFields,
  imageRequestFields,
  looseSwitch,
  optionalLoose,
  optionalLooseWhole,
  readImages,
} from '../images/fields.ts';
import { readImage, readOptionalImage, type SentImage } from '../images/sent-image.ts';

/** The numbers of the original. */
const readFit: f.Read<Fit> = f.described(
  { type: 'integer', minimum: 0, maximum: 3, default: 1 },
  f.orElse((value, path) => fits[f.looseWholeWithin(0, 3)(value, path)] ?? 'cover', 'cover'),
);
const fits: readonly Fit[] = ['fill', 'cover', 'contain', 'fill'];

const hires = 'Needs an upscaler; without one x-parley-warnings says so.';

export const drawFields = {
  prompt: f.honoured(
    f.orElse(f.readText, 'high quality'),
    'Up to 3000 bytes. Tags such as <lora:name:1> choose LoRAs of the model; unknown ones are removed and named in x-parley-warnings.',
  ),
  ...imageRequestFields,
  width: f.honoured(optionalLoose, 'Rounded and limited: --sdclamped, --sdclampedsoft.'),
  height: f.honoured(optionalLoose, 'As width.'),
  sampler_index: f.honoured(f.optionalText, 'Used if sampler_name is empty.'),
  batch_size: f.honoured(optionalLooseWhole, `${countNote} The seeds count up.`),
  n_iter: f.honoured(optionalLooseWhole, 'Multiplies batch_size.'),
  init_images: f.honoured(readImages, 'Only the first one is used: base64 or a data URL, never an address.'),
  mask: f.honoured(readOptionalImage, 'White is repainted.'),
  inpainting_mask_invert: f.honoured(looseSwitch),
  resize_mode: f.honoured(readFit, '0 stretches, 1 (default) crops, 2 adds white borders.'),
  extra_images: f.approximated(readImages, 'A single one without init_images is the initial picture.'),
  enable_hr: f.approximated(looseSwitch, `Enlarges the finished picture. ${hires}`),
  hr_scale: f.approximated(optionalLoose, 'With enable_hr; 2 by default, 4 at most.'),
  hr_resize_x: f.approximated(optionalLooseWhole, 'With enable_hr, instead of hr_scale.'),
  hr_resize_y: f.approximated(optionalLooseWhole, 'As hr_resize_x.'),
  hr_upscaler: f.approximated(f.optionalText, 'With enable_hr; for an unknown name, the network for the factor.'),
  override_settings: f.group({
    CLIP_stop_at_last_layers: f.honoured(optionalLooseWhole, 'The same as clip_skip.'),
    ...f.each(['sd_model_checkpoint', 'sd_vae', 'forge_additional_modules'], f.ignored('The loaded model draws.')),
  }),
  adapter: f.group({
    add_sd_prompt: f.honoured(f.optionalText, 'Appended to the prompt.'),
    add_sd_negative_prompt: f.honoured(f.optionalText, 'Appended to the negative prompt.'),
    add_sd_step_limit: f.honoured(optionalLoose),
    add_sd_cfg_limit: f.honoured(optionalLoose),
  }),
  add_sd_step_limit: f.honoured(optionalLoose, 'Never above 80.'),
  add_sd_cfg_limit: f.honoured(optionalLoose, 'Never above 25.'),
  keepalive: f.honoured(looseSwitch, 'A slow reply begins with white space.'),
  send_images: f.honoured(f.orElse<boolean>(looseSwitch, true)),
  include_init_images: f.honoured(looseSwitch, 'In the parameters of the reply.'),
  ...ignoredImageFields,
  ...f.each(['send_as_refimg', 'reverse_refimg', 'remove_limits'], f.ignored()),
  ...f.each(['save_images', 'do_not_save_samples', 'do_not_save_grid'], f.ignored('Nothing is saved here.')),
  ...f.each(['styles', 'subseed', 'subseed_strength', 'seed_resize_from_h', 'seed_resize_from_w'], f.ignored()),
  ...f.each(['restore_faces', 's_min_uncond', 's_churn', 's_tmax', 's_tmin', 's_noise'], f.ignored()),
  ...f.each(['refiner_checkpoint', 'refiner_switch_at', 'firstpass_image', 'comments', 'infotext'], f.ignored()),
  ...f.each(['script_name', 'script_args', 'alwayson_scripts'], f.ignored('There are no scripts.')),
  force_task_id: f.honoured(f.optionalText, 'Used as genkey if that is empty.'),
  ...f.each(['override_settings_restore_afterwards', 'disable_extra_networks'], f.ignored()),
  ...f.each(['firstphase_width', 'firstphase_height', 'hr_second_pass_steps', 'hr_checkpoint_name'], f.ignored()),
  ...f.each(
    ['hr_sampler_name', 'hr_scheduler', 'hr_prompt', 'hr_negative_prompt', 'hr_additional_modules'],
    f.ignored(),
  ),
  ...f.each(['image_cfg_scale', 'mask_blur', 'mask_blur_x', 'mask_blur_y', 'mask_round', 'latent_mask'], f.ignored()),
  ...f.each(
    ['inpainting_fill', 'inpaint_full_res', 'inpaint_full_res_padding', 'initial_noise_multiplier'],
    f.ignored(),
  ),
};

export type DrawFields = f.Fields<typeof drawFields>;

const upscaleFields = {
  upscaling_resize: f.honoured(optionalLoose, '2 by default; the result may have 8192 x 8192 pixels.'),
  resize_mode: f.honoured(f.orElse(f.looseWholeWithin(0, 1), 0), '0 by a factor, 1 to a size.'),
  upscaling_resize_w: f.honoured(optionalLooseWhole, 'With resize_mode 1; 512 by default.'),
  upscaling_resize_h: f.honoured(optionalLooseWhole, 'As upscaling_resize_w.'),
  upscaling_crop: f.honoured(f.orElse<boolean>(looseSwitch, true), 'With resize_mode 1: cropped to exactly that size.'),
  upscaler_1: f.honoured(f.optionalText, 'None only resizes. For an unknown name, the network for the factor.'),
  genkey: imageRequestFields.genkey,
  ...f.each(['upscaler_2', 'extras_upscaler_2_visibility', 'gfpgan_visibility', 'upscale_first'], f.ignored()),
  ...f.each(['codeformer_visibility', 'codeformer_weight', 'show_extras_results'], f.ignored()),
};

export type UpscaleFields = f.Fields<typeof upscaleFields>;

export const extraSingleFields = { image: f.honoured(readImage), ...upscaleFields };

/** Clients spell the list and its entries in two ways. */
const readEntries: f.Read<readonly SentImage[] | undefined> = f.described(
  { type: 'array', items: { type: 'object', properties: { data: f.base64Schema, name: f.textSchema } } },
  f.optional((value, path) =>
    f.readList(value, path).map((entry, index) => {
      const holder = f.readObject(entry, `${path}[${index}]`);
      const name = ['data', 'image'].find((key) => !f.isAbsent(holder[key]));
      if (name === undefined) throw f.wrong(`${path}[${index}].data`, 'a picture in base64');
      return readImage(holder[name], `${path}[${index}].${name}`);
    }),
  ),
);

export const extraBatchFields = {
  imageList: f.honoured(readEntries, 'Up to 64 entries with data, or image.'),
  image_list: f.honoured(readEntries, 'Another name of imageList.'),
  ...upscaleFields,
};

export const interrogateFields = {
  image: f.honoured(readImage),
  genkey: imageRequestFields.genkey,
  model: f.ignored('The text model describes the picture if it has vision.'),
};

export const pngInfoFields = { image: f.honoured(readImage) };

export const optionFields = {
  sd_model_checkpoint: f.honoured(
    f.optionalText,
    'The name, title, file or hash of the loaded model; any other is refused.',
  ),
  ...f.positions({ 'every other option': f.ignored('Accepted without effect.') }),
};
