import { ignoredFields } from '../../core/fidelity.ts';
import type { ImageFacts, ImageService } from '../../core/image.ts';
import type { PictureEditor, Size } from '../../core/pictures.ts';
import type { Ticket } from '../../core/request.ts';
import { jsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { ignoredHeader } from '../dialect.ts';
import { wrong } from '../fields/readers.ts';
import { readFields } from '../fields/table.ts';
import { fitted } from '../pictures/pixels.ts';
import { imageOf, type PictureParts } from '../pictures/request.ts';
import type { SentPicture } from '../pictures/sent-picture.ts';
import { enlargedSize, isTooLarge, usualUpscaler } from '../pictures/upscaling.ts';
import { ticketFor } from '../ticket.ts';
import {
  extraBatchFidelity,
  extraBatchFields,
  extraSingleFidelity,
  extraSingleFields,
  type UpscaleFields,
} from './fields.ts';

const mostEntries = 64;

type UpscaleParts = Pick<PictureParts, 'others' | 'editor'>;

export async function upscaleOne(call: Call, { others, editor }: UpscaleParts): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  const fields = readFields(extraSingleFields, body);
  const service = imageOf(others);
  const plan = planOf(fields, fields.image, service.facts);
  const image = await upscaled(plan, { service, editor, ticket: ticketFor(call, fields.genkey) });
  const headers = ignoredHeader(ignoredFields(body, extraSingleFidelity));
  return json({ html_info: told([plan]), image: Buffer.from(image).toString('base64') }, 200, headers);
}

export async function upscaleMany(call: Call, { others, editor }: UpscaleParts): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  const fields = readFields(extraBatchFields, body);
  const sent = fields.imageList ?? fields.image_list;
  if (!sent || sent.length === 0) throw wrong('imageList', 'a list of pictures');
  if (sent.length > mostEntries) throw wrong('imageList', `a list of at most ${mostEntries} pictures`);
  const service = imageOf(others);
  const plans = sent.map((picture) => planOf(fields, picture, service.facts));
  const images: string[] = [];
  const work = { service, editor, ticket: ticketFor(call, fields.genkey) };
  for (const plan of plans) images.push(Buffer.from(await upscaled(plan, work)).toString('base64'));
  return json({ html_info: told(plans), images }, 200, ignoredHeader(ignoredFields(body, extraBatchFidelity)));
}

interface UpscalePlan {
  readonly picture: SentPicture;
  readonly upscaler: string;
  readonly size: Size;
  /** What is left of it at last, where the size is not in the proportions of the picture. */
  readonly cut: Size | undefined;
}

function planOf(fields: UpscaleFields, picture: SentPicture, facts: ImageFacts): UpscalePlan {
  const { width, height } = picture;
  const target = { width: fields.upscaling_resize_w ?? 512, height: fields.upscaling_resize_h ?? 512 };
  const bySize = fields.resize_mode === 1;
  const scale = bySize ? Math.max(target.width / width, target.height / height) : (fields.upscaling_resize ?? 2);
  if (!(scale > 0)) throw wrong(bySize ? 'upscaling_resize_w' : 'upscaling_resize', 'more than 0');
  const upscaler = usualUpscaler(fields.upscaler_1, facts, scale)?.name ?? 'None';
  const size = { width: width * scale, height: height * scale };
  if (isTooLarge(size)) {
    throw wrong(bySize ? 'upscaling_resize_w' : 'upscaling_resize', 'small enough for sides of 8192 pixels');
  }
  return { picture, upscaler, size: enlargedSize(size), cut: bySize && fields.upscaling_crop ? target : undefined };
}

interface UpscaleWork {
  readonly service: ImageService;
  readonly editor: PictureEditor;
  readonly ticket: Ticket;
}

async function upscaled(plan: UpscalePlan, { service, editor, ticket }: UpscaleWork): Promise<Uint8Array> {
  const { picture, upscaler, size, cut } = plan;
  const png = await service.upscale({ picture: picture.bytes, upscaler, ...size }, ticket);
  if (!cut || (cut.width === size.width && cut.height === size.height)) return png;
  return fitted(editor, { bytes: png, field: 'image' }, cut, 'cover', ticket.signal);
}

function told(plans: readonly UpscalePlan[]): string {
  return plans
    .map(({ picture, upscaler, size, cut }) => {
      const { width, height } = cut ?? size;
      return `<p>${picture.width}x${picture.height} to ${width}x${height}, upscaler: ${upscaler}</p>`;
    })
    .join('');
}
