import { type Call, json } from '../../http/call.ts';
import { endpointRow, type ModelEndpoint } from '../endpoint.ts';
import { factsFor, type PictureParts } from '../pictures/request.ts';
import { draw } from './draw.ts';
import { sdapiFamily } from './errors.ts';
import { type InterrogateParts, interrogate, pngInfo } from './interrogate.ts';
import { lists, setOptions } from './lists.ts';
import { keyOf, type LastDrawings, lastDrawing, progressReply } from './progress.ts';
import { upscaleMany, upscaleOne } from './upscale.ts';

/** Per-model part of the context. */
export interface SdapiContext extends PictureParts, InterrogateParts {}

type Own = ModelEndpoint<SdapiContext>;

/** Only drawing, enlarging and captions wait in the queue: a request to stop a drawing must not wait for its end. */
export function sdapiEndpoints(last: LastDrawings): Own[] {
  const row = endpointRow({ method: 'POST', match: 'ending', queued: false, family: sdapiFamily });
  const get = (path: string, summary: string, value: (call: Call, parts: SdapiContext) => unknown): Own =>
    row(`/sdapi/v1/${path}`, summary, (call, parts) => json(value(call, parts)), { method: 'GET' });
  // A model name in the body is not that of a text model.
  const post = (path: string, summary: string, handle: Own['handle'], queued = false): Own =>
    row(`/sdapi/v1/${path}`, summary, handle, { queued, modelSelection: 'any-name' });
  const work = (path: string, summary: string, handle: Own['handle']): Own => post(path, summary, handle, true);
  return [
    work('txt2img', 'A picture from a prompt.', (call, parts) => draw(call, 'txt2img', { ...parts, last })),
    work('img2img', 'A picture from a prompt and a picture.', (call, parts) =>
      draw(call, 'img2img', { ...parts, last }),
    ),
    work('extra-single-image', 'A picture enlarged.', upscaleOne),
    work('upscale', 'Another name for /sdapi/v1/extra-single-image.', upscaleOne),
    work('extra-batch-images', 'Several pictures enlarged.', upscaleMany),
    work('interrogate', 'A caption for a picture, by the text model.', interrogate),
    post('png-info', 'The infotext of a picture.', pngInfo),
    post('interrupt', 'Stop all drawings, or that of the genkey in the query.', ({ query }, { drawings }) => {
      if (drawings.interrupt(keyOf(query))) last.interrupt();
      return json({});
    }),
    post(
      'skip',
      'Skip the current picture of all drawings, or of that of the genkey in the query.',
      ({ query }, { drawings }) => {
        drawings.skip(keyOf(query));
        return json(null);
      },
    ),
    post('options', 'Accepted; names of other models are refused.', (call, { taskServices }) =>
      setOptions(call, taskServices?.image?.facts),
    ),
    ...['refresh-checkpoints', 'refresh-vae', 'refresh-embeddings', 'refresh-loras'].map((path) =>
      post(path, 'Accepted without effect.', () => json(null)),
    ),
    ...['unload-checkpoint', 'reload-checkpoint'].map((path) =>
      post(path, 'Accepted: models are loaded and unloaded automatically.', () => json({})),
    ),
    get('progress', 'Progress of the drawing.', (call, { drawings, now }) =>
      progressReply(call, { drawings, last, now: now() }),
    ),
    get('get_last.json', 'The last picture of this genkey.', (call) => lastDrawing(call, last)),
    ...Object.entries(lists).map(([path, [summary, of]]) =>
      get(path, summary, (call, { taskServices }) => of(factsFor(call, taskServices?.image?.facts))),
    ),
  ];
}
