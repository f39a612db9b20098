import type { ImageFacts } from '../../core/image.ts';
import type { Size } from '../../core/pictures.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { ignoredIn } from '../dialect.ts';
import { bodyOf } from '../endpoint.ts';
import { readFields, wrong } from '../fields.ts';
import { fitted } from '../pictures/pixels.ts';
import { imageOf, type PictureParts } from '../pictures/request.ts';
import type { SentPicture } from '../pictures/sent-picture.ts';
import { chooseUpscaler, enlargedSize, isTooLarge } from '../pictures/upscaling.ts';
import { ticketFor } from '../ticket.ts';
import {
  extraBatchFidelity,
  extraBatchFields,
  extraSingleFidelity,
  extraSingleFields,
  type UpscaleFields,
} from './fields.ts';

const mostEntries = 64;

type UpscaleParts = Pick<PictureParts, 'taskServices' | 'editor'>;

export async function upscaleOne(call: Call, parts: UpscaleParts): Promise<Reply> {
  const body = await bodyOf(call);
  const fields = readFields(extraSingleFields, body);
  const { images, ...info } = await upscaled(call, fields, [fields.image], parts);
  return json({ ...info, image: images[0] }, 200, ignoredIn(body, extraSingleFidelity));
}

export async function upscaleMany(call: Call, parts: UpscaleParts): Promise<Reply> {
  const body = await bodyOf(call);
  const fields = readFields(extraBatchFields, body);
  const sent = fields.imageList ?? fields.image_list;
  if (!sent || sent.length === 0) throw wrong('imageList', 'a list of pictures');
  if (sent.length > mostEntries) throw wrong('imageList', `a list of at most ${mostEntries} pictures`);
  const reply = await upscaled(call, fields, sent, parts);
  return json(reply, 200, ignoredIn(body, extraBatchFidelity));
}

async function upscaled(
  call: Call,
  fields: UpscaleFields,
  pictures: readonly SentPicture[],
  { taskServices, editor }: UpscaleParts,
): Promise<{ readonly html_info: string; readonly images: readonly string[] }> {
  const service = imageOf(taskServices);
  const plans = pictures.map((picture) => planOf(fields, picture, service.facts));
  const ticket = ticketFor(call, fields.genkey);
  const images: string[] = [];
  for (const { picture, upscaler, size, cut } of plans) {
    const png = await service.upscale({ picture: picture.bytes, upscaler, ...size }, ticket);
    const isWhole = !cut || (cut.width === size.width && cut.height === size.height);
    const result = isWhole ? png : await fitted(editor, { bytes: png, field: 'image' }, cut, 'cover', ticket.signal);
    images.push(Buffer.from(result).toString('base64'));
  }
  return { html_info: plans.map(describe).join(''), images };
}

interface UpscalePlan {
  readonly picture: SentPicture;
  readonly upscaler: string;
  readonly size: Size;
  /** Final size, if it has another aspect ratio. */
  readonly cut: Size | undefined;
}

function planOf(fields: UpscaleFields, picture: SentPicture, facts: ImageFacts): UpscalePlan {
  const { width, height } = picture;
  const target = { width: fields.upscaling_resize_w ?? 512, height: fields.upscaling_resize_h ?? 512 };
  const bySize = fields.resize_mode === 1;
  const scale = bySize ? Math.max(target.width / width, target.height / height) : (fields.upscaling_resize ?? 2);
  const field = bySize ? 'upscaling_resize_w' : 'upscaling_resize';
  if (!(scale > 0)) throw wrong(field, 'more than 0');
  const upscaler = chooseUpscaler(fields.upscaler_1, facts, scale)?.name ?? 'None';
  const size = { width: width * scale, height: height * scale };
  if (isTooLarge(size)) throw wrong(field, 'small enough for sides of 8192 pixels');
  return { picture, upscaler, size: enlargedSize(size), cut: bySize && fields.upscaling_crop ? target : undefined };
}

function describe({ picture, upscaler, size, cut }: UpscalePlan): string {
  const { width, height } = cut ?? size;
  return `<p>${picture.width}x${picture.height} to ${width}x${height}, upscaler: ${upscaler}</p>`;
}
