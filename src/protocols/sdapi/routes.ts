import { type Call, type Endpoint, json, type Reply } from '../../http/call.ts';
import { factsFor } from '../pictures/hidden-facts.ts';
import type { PictureParts } from '../pictures/request.ts';
import { draw, lastDrawing } from './draw.ts';
import { Drawings } from './drawings.ts';
import { sdapiFamily } from './errors.ts';
import { type InterrogateParts, interrogate } from './interrogate.ts';
import { lists } from './lists.ts';
import { optionsOf, setOptions } from './options.ts';
import { pngInfo } from './png-info.ts';
import { progressReply } from './progress.ts';
import { upscaleMany, upscaleOne } from './upscale.ts';

export interface SdapiParts extends PictureParts, InterrogateParts {}

/** Only what draws or looks waits in the queue: whoever wants to stop something must not wait for its end. */
export function sdapiEndpoints(parts: SdapiParts): Endpoint[] {
  const drawings = new Drawings();
  const image = parts.others?.image;
  const common = { match: 'ending', family: sdapiFamily } as const;
  const get = (path: string, summary: string, handle: (call: Call) => Reply, access: Endpoint['access']): Endpoint => ({
    ...common,
    method: 'GET',
    path: `/sdapi/v1/${path}`,
    access,
    queued: false,
    summary,
    handle,
  });
  const post = (path: string, summary: string, handle: Endpoint['handle'], queued: boolean): Endpoint => ({
    ...common,
    method: 'POST',
    path: `/sdapi/v1/${path}`,
    access: 'guarded',
    queued,
    // What a client calls its model is not the name of one for text.
    beside: 'any-name',
    summary,
    handle,
  });
  const interrupt = (): Reply => {
    if (image?.interrupt()) drawings.stop();
    return json({});
  };
  const skip = (): Reply => {
    image?.skip();
    return json(null);
  };
  const own = { ...parts, drawings };
  return [
    post('txt2img', 'A picture from words.', (call) => draw(call, 'txt2img', own), true),
    post('img2img', 'A picture from another one.', (call) => draw(call, 'img2img', own), true),
    post('extra-single-image', 'A picture enlarged.', (call) => upscaleOne(call, parts), true),
    post('upscale', 'Another name for /sdapi/v1/extra-single-image.', (call) => upscaleOne(call, parts), true),
    post('extra-batch-images', 'Several pictures enlarged.', (call) => upscaleMany(call, parts), true),
    post('interrogate', 'A caption for a picture, by the text model.', (call) => interrogate(call, parts), true),
    post('png-info', 'What stands in a picture about how it was made.', pngInfo, false),
    post('interrupt', 'Stop what is drawn now.', interrupt, false),
    post('skip', 'Go on with the next picture of what is drawn now.', skip, false),
    post('options', 'Accepted; names of other models are refused.', (call) => setOptions(call, image?.facts), false),
    ...refreshed.map((path) => post(path, 'Accepted: there is nothing to look up again.', () => json(null), false)),
    ...loading.map((path) => post(path, 'Accepted: models come and go by themselves.', () => json({}), false)),
    get('options', 'Those that clients ask for.', (call) => json(optionsOf(factsFor(call, image?.facts))), 'open'),
    get(
      'progress',
      'How far the picture is.',
      (call) => json(progressReply(call, { service: image, drawings, now: parts.now() })),
      'guarded',
    ),
    get('get_last.json', 'The last picture of this genkey.', (call) => json(lastDrawing(call, drawings)), 'guarded'),
    ...Object.entries(lists).map(([path, { summary, of }]) =>
      get(path, summary, (call) => json(of(factsFor(call, image?.facts))), 'open'),
    ),
  ];
}

const refreshed = ['refresh-checkpoints', 'refresh-vae', 'refresh-embeddings', 'refresh-loras'] as const;
const loading = ['unload-checkpoint', 'reload-checkpoint'] as const;
