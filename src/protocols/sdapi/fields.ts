import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { Fit } from '../../core/pictures.ts';
import { looseWholeWithin } from '../fields/loose.ts';
import {
  described,
  isAbsent,
  optional,
  optionalText,
  orElse,
  type Read,
  readList,
  readObject,
  readText,
  wrong,
} from '../fields/readers.ts';
import { base64Schema, textSchema } from '../fields/schemas.ts';
import {
  approximated,
  each,
  type Fields,
  fidelityOf,
  group,
  honoured,
  ignored,
  places,
  type Table,
} from '../fields/table.ts';
import {
  countNote,
  drawingFields,
  looseSwitch,
  optionalLoose,
  optionalLooseWhole,
  readPictures,
  unusedDrawingFields,
} from '../pictures/fields.ts';
import { readOptionalPicture, readPicture, type SentPicture } from '../pictures/sent-picture.ts';

const dialect = 'Stable Diffusion web UI';

/** The numbers of the original. */
const readFit: Read<Fit> = described(
  { type: 'integer', minimum: 0, maximum: 3, default: 1 },
  orElse((value, path) => fits[looseWholeWithin(0, 3)(value, path)] ?? 'cover', 'cover'),
);
const fits: readonly Fit[] = ['fill', 'cover', 'contain', 'fill'];

const hires = 'Needs an upscaler; without one x-parley-warnings says so.';

export const drawFields = {
  prompt: honoured(
    orElse(readText, 'high quality'),
    'Up to 3000 bytes. Tags such as <lora:name:1> choose LoRAs of the model; unknown ones are removed and named in x-parley-warnings.',
  ),
  ...drawingFields,
  width: honoured(optionalLoose, 'Rounded and limited: --sdclamped, --sdclampedsoft.'),
  height: honoured(optionalLoose, 'As width.'),
  sampler_index: honoured(optionalText, 'Used if sampler_name is empty.'),
  batch_size: honoured(optionalLooseWhole, `${countNote} The seeds count up.`),
  n_iter: honoured(optionalLooseWhole, 'Multiplies batch_size.'),
  init_images: honoured(readPictures, 'Only the first one is used: base64 or a data URL, never an address.'),
  mask: honoured(readOptionalPicture, 'White is repainted.'),
  inpainting_mask_invert: honoured(looseSwitch),
  resize_mode: honoured(readFit, '0 stretches, 1 (default) crops, 2 adds white borders.'),
  extra_images: approximated(readPictures, 'A single one without init_images is the initial picture.'),
  enable_hr: approximated(looseSwitch, `Enlarges the finished picture. ${hires}`),
  hr_scale: approximated(optionalLoose, 'With enable_hr; 2 by default, 4 at most.'),
  hr_resize_x: approximated(optionalLooseWhole, 'With enable_hr, instead of hr_scale.'),
  hr_resize_y: approximated(optionalLooseWhole, 'As hr_resize_x.'),
  hr_upscaler: approximated(optionalText, 'With enable_hr; for an unknown name, the network for the factor.'),
  override_settings: group({
    CLIP_stop_at_last_layers: honoured(optionalLooseWhole, 'The same as clip_skip.'),
    ...each(['sd_model_checkpoint', 'sd_vae', 'forge_additional_modules'], ignored('The loaded model draws.')),
  }),
  adapter: group({
    add_sd_prompt: honoured(optionalText, 'Appended to the prompt.'),
    add_sd_negative_prompt: honoured(optionalText, 'Appended to the negative prompt.'),
    add_sd_step_limit: honoured(optionalLoose),
    add_sd_cfg_limit: honoured(optionalLoose),
  }),
  add_sd_step_limit: honoured(optionalLoose, 'Never above 80.'),
  add_sd_cfg_limit: honoured(optionalLoose, 'Never above 25.'),
  keepalive: honoured(looseSwitch, 'A slow reply begins with white space.'),
  send_images: honoured(orElse<boolean>(looseSwitch, true)),
  include_init_images: honoured(looseSwitch, 'In the parameters of the reply.'),
  ...unusedDrawingFields,
  ...each(['send_as_refimg', 'reverse_refimg', 'remove_limits'], ignored()),
  ...each(['save_images', 'do_not_save_samples', 'do_not_save_grid'], ignored('Nothing is saved here.')),
  ...each(['styles', 'subseed', 'subseed_strength', 'seed_resize_from_h', 'seed_resize_from_w'], ignored()),
  ...each(['restore_faces', 's_min_uncond', 's_churn', 's_tmax', 's_tmin', 's_noise'], ignored()),
  ...each(['refiner_checkpoint', 'refiner_switch_at', 'firstpass_image', 'comments', 'infotext'], ignored()),
  ...each(['script_name', 'script_args', 'alwayson_scripts'], ignored('There are no scripts.')),
  force_task_id: honoured(optionalText, 'Used as genkey if that is empty.'),
  ...each(['override_settings_restore_afterwards', 'disable_extra_networks'], ignored()),
  ...each(['firstphase_width', 'firstphase_height', 'hr_second_pass_steps', 'hr_checkpoint_name'], ignored()),
  ...each(['hr_sampler_name', 'hr_scheduler', 'hr_prompt', 'hr_negative_prompt', 'hr_additional_modules'], ignored()),
  ...each(['image_cfg_scale', 'mask_blur', 'mask_blur_x', 'mask_blur_y', 'mask_round', 'latent_mask'], ignored()),
  ...each(['inpainting_fill', 'inpaint_full_res', 'inpaint_full_res_padding', 'initial_noise_multiplier'], ignored()),
};

export type DrawFields = Fields<typeof drawFields>;

const upscaleFields = {
  upscaling_resize: honoured(optionalLoose, '2 by default; the result may have 8192 x 8192 pixels.'),
  resize_mode: honoured(orElse(looseWholeWithin(0, 1), 0), '0 by a factor, 1 to a size.'),
  upscaling_resize_w: honoured(optionalLooseWhole, 'With resize_mode 1; 512 by default.'),
  upscaling_resize_h: honoured(optionalLooseWhole, 'As upscaling_resize_w.'),
  upscaling_crop: honoured(orElse<boolean>(looseSwitch, true), 'With resize_mode 1: cropped to exactly that size.'),
  upscaler_1: honoured(optionalText, 'None only resizes. For an unknown name, the network for the factor.'),
  genkey: drawingFields.genkey,
  ...each(['upscaler_2', 'extras_upscaler_2_visibility', 'gfpgan_visibility', 'upscale_first'], ignored()),
  ...each(['codeformer_visibility', 'codeformer_weight', 'show_extras_results'], ignored()),
};

export type UpscaleFields = Fields<typeof upscaleFields>;

export const extraSingleFields = { image: honoured(readPicture), ...upscaleFields };

/** Clients spell the list and its entries in two ways. */
const readEntries: Read<readonly SentPicture[] | undefined> = described(
  { type: 'array', items: { type: 'object', properties: { data: base64Schema, name: textSchema } } },
  optional((value, path) =>
    readList(value, path).map((entry, index) => {
      const holder = readObject(entry, `${path}[${index}]`);
      const name = ['data', 'image'].find((key) => !isAbsent(holder[key]));
      if (name === undefined) throw wrong(`${path}[${index}].data`, 'a picture in base64');
      return readPicture(holder[name], `${path}[${index}].${name}`);
    }),
  ),
);

export const extraBatchFields = {
  imageList: honoured(readEntries, 'Up to 64 entries with data, or image.'),
  image_list: honoured(readEntries, 'Another name of imageList.'),
  ...upscaleFields,
};

export const interrogateFields = {
  image: honoured(readPicture),
  genkey: drawingFields.genkey,
  model: ignored('The text model describes the picture if it has vision.'),
};

export const pngInfoFields = { image: honoured(readPicture) };

export const optionFields = {
  sd_model_checkpoint: honoured(
    optionalText,
    'The name, title, file or hash of the loaded model; any other is refused.',
  ),
  ...places({ 'every other option': ignored('Accepted without effect.') }),
};

const tableOf = (path: string, table: Table) => fidelityOf(dialect, `POST /sdapi/v1/${path}`, table);
export const drawFidelity = tableOf('txt2img, POST /sdapi/v1/img2img', drawFields);
export const extraSingleFidelity = tableOf('extra-single-image', extraSingleFields);
export const extraBatchFidelity = tableOf('extra-batch-images', extraBatchFields);
export const interrogateFidelity = tableOf('interrogate', interrogateFields);

export const sdapiFidelity: readonly EndpointFidelity[] = [
  drawFidelity,
  extraSingleFidelity,
  extraBatchFidelity,
  interrogateFidelity,
  tableOf('png-info', pngInfoFields),
  tableOf('options', optionFields),
];
