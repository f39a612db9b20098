import { AppError, asAppError } from '../../../core/errors.ts';
import type { ImageEvent } from '../../../core/image.ts';
import type { ImageEditor, Size } from '../../../core/image-editing.ts';
import type { Call, Reply } from '../../../http/call.ts';
import { requestsPadding } from '../../../http/keep-alive.ts';
import { dataFrame, namedFrame } from '../../../http/sse.ts';
import { legacyOpen, write } from '../../access.ts';
import { ignoredHeader, listHeader, streamReply } from '../../dialect.ts';
import { withServices, withShortPath } from '../../endpoint.ts';
import { imageRequestContext } from '../../images/fields.ts';
import {
  collectImages,
  type ImageContext,
  type ImageResult,
  type ImageServices,
  imageOf,
} from '../../images/request.ts';
import { encodedAs } from '../../images/sent-image.ts';
import { formOrBody } from '../../recording.ts';
import { wordCount } from '../../spoken-text.ts';
import { errorBody, openaiRow } from '../errors.ts';
import { wholeReply } from '../reply.ts';
import { type DecodedImages, decodeImages } from './decode.ts';
import { type ImageKind, imageKinds } from './fields.ts';

const endpoints = Object.values(imageKinds).flatMap((kind) =>
  withShortPath<ImageContext>(
    openaiRow(kind.path, kind.summary, (call, context) => answer(call, kind, context), {
      ...legacyOpen(write('images')),
      fields: kind.fields,
      response: kind.input === 'none' ? 'images' : 'editedImages',
      modelSelection: 'any-name',
      batched: true,
      // Sixteen images and a mask.
      ...(kind.input !== 'none' && { form: { files: 17 } }),
    }),
  ),
);

export const imagesEndpoints = (server: ImageServices) => withServices(endpoints, server);

async function answer(call: Call, kind: ImageKind, context: ImageContext): Promise<Reply> {
  const { editor, startTimer, now } = context;
  const body = context.applyDefaults(await formOrBody(call), 'image');
  const service = imageOf(context.taskServices);
  const decoded = await decodeImages(call, body, kind, { ...context, facts: service.facts });
  call.watch?.decoded?.(decoded.request);
  const { requestContext } = imageRequestContext(call, decoded.fields);
  const events = service.inTurn(requestContext, async function* (turn) {
    yield* turn.generate(await decoded.prepared(editor, turn.signal));
  });
  const headers = ignoredHeader(kind.fields, body);
  if (decoded.fields.stream) {
    const encode = (begun: typeof events) => encodeStream(begun, decoded, kind, { now, editor });
    return streamReply(events, encode, { headers, requestContext, startTimer });
  }
  const encoded = collectImages(events, decoded.request).then(async (generated) => {
    // Clients take the first image without a check.
    if (generated.pictures.length === 0) throw new AppError('stopped', {});
    const body = JSON.stringify(await encodeWhole(generated, decoded, { now, editor }));
    return { body, headers: listHeader('x-parley-warnings', [...decoded.notes, ...generated.notes]) };
  });
  return wholeReply(encoded, { padded: requestsPadding(call), headers, startTimer });
}

type EncodeContext = Pick<ImageContext, 'now' | 'editor'>;

async function encodeWhole(
  generated: ImageResult,
  decoded: DecodedImages,
  { now, editor }: EncodeContext,
): Promise<object> {
  const { response_format, output_format: format } = decoded.fields;
  const images = await Promise.all(generated.pictures.map(({ png }) => base64Of(png, decoded, editor)));
  return {
    created: Math.floor(now() / 1000),
    data: images.map((base64) => ({
      b64_json: base64,
      ...(response_format === 'url' && { url: `data:image/${format};base64,${base64}` }),
    })),
    ...imageFacts(generated, decoded),
    usage: usageOf(decoded),
  };
}

/** Up to `partial_images` previews of each image, and each image when it is done. */
async function* encodeStream(
  events: AsyncIterable<ImageEvent>,
  decoded: DecodedImages,
  kind: ImageKind,
  { now, editor }: EncodeContext,
): AsyncGenerator<string> {
  const facts = imageFacts(decoded.request, decoded);
  let previews = 0;
  const frame = async (name: string, png: Uint8Array, more: object): Promise<string> => {
    const type = `${kind.events}.${name}`;
    const base64 = await base64Of(png, decoded, editor);
    const data = { type, b64_json: base64, ...more, created_at: Math.floor(now() / 1000), ...facts };
    return namedFrame(type, JSON.stringify(data));
  };
  try {
    for await (const event of events) {
      if (event.type === 'image') {
        previews = 0;
        yield await frame('completed', event.png, { usage: usageOf(decoded) });
      } else if (event.type === 'progress' && event.preview && event.step < event.steps) {
        if (previews >= decoded.fields.partial_images) continue;
        yield await frame('partial_image', event.preview, { partial_image_index: previews });
        previews += 1;
      }
    }
  } catch (error) {
    yield dataFrame(JSON.stringify(errorBody(asAppError(error))));
  }
}

function imageFacts({ width, height }: Size, { fields }: DecodedImages): object {
  return { background: 'opaque', output_format: fields.output_format, quality: 'medium', size: `${width}x${height}` };
}

/** In words: the image model has no tokens. */
function usageOf({ request }: DecodedImages): object {
  const input = wordCount(request.prompt);
  const details = { image_tokens: 0, text_tokens: input };
  return { input_tokens: input, output_tokens: 0, total_tokens: input, input_tokens_details: details };
}

async function base64Of(png: Uint8Array, { fields }: DecodedImages, editor: ImageEditor): Promise<string> {
  const bytes = await encodedAs(editor, png, fields.output_format, fields.output_compression);
  return Buffer.from(bytes).toString('base64');
}
