import { type Call, type Endpoint, json, type Reply } from '../../http/call.ts';
import { factsFor } from '../pictures/hidden-facts.ts';
import type { PictureParts } from '../pictures/request.ts';
import { draw, lastDrawing } from './draw.ts';
import type { LastDrawings } from './drawings.ts';
import { sdapiFamily } from './errors.ts';
import { type InterrogateParts, interrogate } from './interrogate.ts';
import { lists } from './lists.ts';
import { optionsOf, setOptions } from './options.ts';
import { pngInfo } from './png-info.ts';
import { askedKey, progressReply } from './progress.ts';
import { upscaleMany, upscaleOne } from './upscale.ts';

export interface SdapiParts extends PictureParts, InterrogateParts {
  readonly last: LastDrawings;
}

/** Only what draws or looks waits in the queue: whoever wants to stop something must not wait for its end. */
export function sdapiEndpoints(parts: SdapiParts): Endpoint[] {
  const { drawings, last } = parts;
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
  const interrupt = ({ query }: Call): Reply => {
    if (drawings.interrupt(askedKey(query))) last.stop();
    return json({});
  };
  const skip = ({ query }: Call): Reply => {
    drawings.skip(askedKey(query));
    return json(null);
  };
  return [
    post('txt2img', 'A picture from words.', (call) => draw(call, 'txt2img', parts), true),
    post('img2img', 'A picture from another one.', (call) => draw(call, 'img2img', parts), true),
    post('extra-single-image', 'A picture enlarged.', (call) => upscaleOne(call, parts), true),
    post('upscale', 'Another name for /sdapi/v1/extra-single-image.', (call) => upscaleOne(call, parts), true),
    post('extra-batch-images', 'Several pictures enlarged.', (call) => upscaleMany(call, parts), true),
    post('interrogate', 'A caption for a picture, by the text model.', (call) => interrogate(call, parts), true),
    post('png-info', 'What stands in a picture about how it was made.', pngInfo, false),
    post('interrupt', 'Stop all that is drawn now, or what has the genkey of the query.', interrupt, false),
    post(
      'skip',
      'Go on with the next picture of all that is drawn now, or of what has the genkey of the query.',
      skip,
      false,
    ),
    post('options', 'Accepted; names of other models are refused.', (call) => setOptions(call, image?.facts), false),
    ...refreshed.map((path) => post(path, 'Accepted: there is nothing to look up again.', () => json(null), false)),
    ...loading.map((path) => post(path, 'Accepted: models come and go by themselves.', () => json({}), false)),
    get('options', 'Those that clients ask for.', (call) => json(optionsOf(factsFor(call, image?.facts))), 'open'),
    get(
      'progress',
      'How far the picture is.',
      (call) => json(progressReply(call, { drawings, last, now: parts.now() })),
      'guarded',
    ),
    get('get_last.json', 'The last picture of this genkey.', (call) => json(lastDrawing(call, last)), 'guarded'),
    ...Object.entries(lists).map(([path, { summary, of }]) =>
      get(path, summary, (call) => json(of(factsFor(call, image?.facts))), 'open'),
    ),
  ];
}

const refreshed = ['refresh-checkpoints', 'refresh-vae', 'refresh-embeddings', 'refresh-loras'] as const;
const loading = ['unload-checkpoint', 'reload-checkpoint'] as const;
