import { AppError } from '../../core/errors.ts';
import { fold } from '../../core/fold.ts';
import type { ImageFacts } from '../../core/image.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { type ChatReader, ignoredHeader } from '../dialect.ts';
import { bodyOf } from '../endpoint.ts';
import { readFields, wrong } from '../fields.ts';
import { imageTexts } from '../images/image-header.ts';
import { parseInfotext } from '../images/infotext.ts';
import { chooseUpscaler, enlargedSize, type ImageContext, imageOf, isTooLarge } from '../images/request.ts';
import { fitted, type SentImage } from '../images/sent-image.ts';
import { mediaInputs } from '../media.ts';
import { requestContextOf } from '../request-context.ts';
import { extraBatchFields, extraSingleFields, interrogateFields, pngInfoFields, type UpscaleFields } from './fields.ts';

const maxEntries = 64;

type UpscaleContext = Pick<ImageContext, 'taskServices' | 'editor'>;

export async function upscaleOne(call: Call, context: UpscaleContext): Promise<Reply> {
  const body = await bodyOf(call);
  const fields = readFields(extraSingleFields, body);
  const { images, ...info } = await upscaled(call, fields, [fields.image], context);
  return json({ ...info, image: images[0] }, 200, ignoredHeader(extraSingleFields, body));
}

export async function upscaleMany(call: Call, context: UpscaleContext): Promise<Reply> {
  const body = await bodyOf(call);
  const fields = readFields(extraBatchFields, body);
  const sent = fields.imageList ?? fields.image_list;
  if (!sent || sent.length === 0) throw wrong('imageList', 'a list of pictures');
  if (sent.length > maxEntries) throw wrong('imageList', `a list of at most ${maxEntries} pictures`);
  const reply = await upscaled(call, fields, sent, context);
  return json(reply, 200, ignoredHeader(extraBatchFields, body));
}

async function upscaled(call: Call, fields: UpscaleFields, pictures: readonly SentImage[], context: UpscaleContext) {
  const { taskServices, editor } = context;
  const service = imageOf(taskServices);
  const plans = pictures.map((picture) => planOf(fields, picture, service.facts));
  const requestContext = requestContextOf(call, fields.genkey);
  const images: string[] = [];
  for (const { picture, upscaler, size, cut } of plans) {
    const png = await service.upscale({ image: picture.bytes, upscaler, ...size }, requestContext);
    const isWhole = !cut || (cut.width === size.width && cut.height === size.height);
    const result = isWhole
      ? png
      : await fitted(editor, { bytes: png, field: 'image' }, cut, 'cover', requestContext.signal);
    images.push(Buffer.from(result).toString('base64'));
  }
  return { html_info: plans.map(describe).join(''), images };
}

/** `cut` is the final size, if it has another aspect ratio. */
function planOf(fields: UpscaleFields, picture: SentImage, facts: ImageFacts) {
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

function describe({ picture, upscaler, size, cut }: ReturnType<typeof planOf>): string {
  const { width, height } = cut ?? size;
  return `<p>${picture.width}x${picture.height} to ${width}x${height}, upscaler: ${upscaler}</p>`;
}

const instruction = 'Describe this picture in a single sentence, as its caption. Write nothing but the caption.';
const maxCaptionLength = 150;

export async function interrogate(call: Call, context: ChatReader): Promise<Reply> {
  const { text, chat, readChat } = context;
  const body = await bodyOf(call);
  const { image, genkey } = readFields(interrogateFields, body);
  const state = text.state();
  if (state.type === 'none' || !mediaInputs(state).image) {
    throw new AppError('model-missing', { capability: 'vision', flag: '--mmproj FILE' });
  }
  const sent = { messages: [question(image)], max_tokens: maxCaptionLength, reasoning_effort: 'none' };
  // Without tools, including those of the server.
  const request = { ...(await readChat(sent, context)), toolChoice: { type: 'none' } as const };
  const caption = wholeSentences((await fold(chat.reply(request, requestContextOf(call, genkey)))).text);
  return json({ caption }, 200, ignoredHeader(interrogateFields, body));
}

function question({ format, bytes }: SentImage): object {
  const url = `data:image/${format};base64,${Buffer.from(bytes).toString('base64')}`;
  return {
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url } },
      { type: 'text', text: instruction },
    ],
  };
}

/** Cut after the last end of a sentence, if there is one. */
function wholeSentences(text: string): string {
  const caption = text.trim();
  const last = [...caption.matchAll(/[.!?*")}`\];…\n]/g)].at(-1);
  return last === undefined ? caption : caption.slice(0, last.index + 1).trim();
}

/** The infotext of an image. */
export async function pngInfo(call: Call): Promise<Reply> {
  const body = await bodyOf(call);
  const { parameters: info = '', ...items } = imageTexts(readFields(pngInfoFields, body).image.bytes);
  return json({ info, items, parameters: info === '' ? {} : parseInfotext(info) });
}
