import { type Endpoint, json } from '../../http/call.ts';
import type { ModelEndpoint } from '../endpoint.ts';
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

/** What depends on the model that a call concerns. */
export interface SdapiContext extends PictureParts, InterrogateParts {}

type Handle = ModelEndpoint<SdapiContext>['handle'];

/** Only what draws or looks waits in the queue: whoever wants to stop something must not wait for its end. */
export function sdapiEndpoints(last: LastDrawings): ModelEndpoint<SdapiContext>[] {
  const common = { match: 'ending', family: sdapiFamily } as const;
  const get = (
    path: string,
    summary: string,
    handle: Handle,
    access: Endpoint['access'],
  ): ModelEndpoint<SdapiContext> => ({
    ...common,
    method: 'GET',
    path: `/sdapi/v1/${path}`,
    access,
    queued: false,
    summary,
    handle,
  });
  const post = (path: string, summary: string, handle: Handle, queued: boolean): ModelEndpoint<SdapiContext> => ({
    ...common,
    method: 'POST',
    path: `/sdapi/v1/${path}`,
    access: 'guarded',
    queued,
    // What a client calls its model is not the name of one for text.
    modelSelection: 'any-name',
    summary,
    handle,
  });
  const interrupt: Handle = ({ query }, { drawings }) => {
    if (drawings.interrupt(askedKey(query))) last.stop();
    return json({});
  };
  const skip: Handle = ({ query }, { drawings }) => {
    drawings.skip(askedKey(query));
    return json(null);
  };
  return [
    post('txt2img', 'A picture from words.', (call, parts) => draw(call, 'txt2img', { ...parts, last }), true),
    post('img2img', 'A picture from another one.', (call, parts) => draw(call, 'img2img', { ...parts, last }), true),
    post('extra-single-image', 'A picture enlarged.', upscaleOne, true),
    post('upscale', 'Another name for /sdapi/v1/extra-single-image.', upscaleOne, true),
    post('extra-batch-images', 'Several pictures enlarged.', upscaleMany, true),
    post('interrogate', 'A caption for a picture, by the text model.', interrogate, true),
    post('png-info', 'What stands in a picture about how it was made.', pngInfo, false),
    post('interrupt', 'Stop all that is drawn now, or what has the genkey of the query.', interrupt, false),
    post(
      'skip',
      'Go on with the next picture of all that is drawn now, or of what has the genkey of the query.',
      skip,
      false,
    ),
    post(
      'options',
      'Accepted; names of other models are refused.',
      (call, { others }) => setOptions(call, others?.image?.facts),
      false,
    ),
    ...refreshed.map((path) => post(path, 'Accepted: there is nothing to look up again.', () => json(null), false)),
    ...loading.map((path) => post(path, 'Accepted: models come and go by themselves.', () => json({}), false)),
    get(
      'options',
      'Those that clients ask for.',
      (call, { others }) => json(optionsOf(factsFor(call, others?.image?.facts))),
      'open',
    ),
    get(
      'progress',
      'How far the picture is.',
      (call, { drawings, now }) => json(progressReply(call, { drawings, last, now: now() })),
      'guarded',
    ),
    get('get_last.json', 'The last picture of this genkey.', (call) => json(lastDrawing(call, last)), 'guarded'),
    ...Object.entries(lists).map(([path, { summary, of }]) =>
      get(path, summary, (call, { others }) => json(of(factsFor(call, others?.image?.facts))), 'open'),
    ),
  ];
}

const refreshed = ['refresh-checkpoints', 'refresh-vae', 'refresh-embeddings', 'refresh-loras'] as const;
const loading = ['unload-checkpoint', 'reload-checkpoint'] as const;
