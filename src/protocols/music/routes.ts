import { AppError } from '../../core/errors.ts';
import { ignoredFields } from '../../core/fidelity.ts';
import type { MusicService } from '../../core/music.ts';
import { jsonObject } from '../../http/body.ts';
import { type Call, type Family, json, type Reply } from '../../http/call.ts';
import { ignoredHeader } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { ticketFor } from '../ticket.ts';
import { decodeSong, musicRequest } from './decode.ts';
import { encodeSongFields, encodeSongFile } from './encode.ts';
import { musicFidelity } from './fields.ts';

export interface MusicContext {
  readonly taskServices?: { readonly music?: MusicService };
}

export interface MusicServices {
  /** Of the native API, which these paths belong to. */
  readonly family: Family;
  readonly newSeed: () => number;
}

export function musicEndpoints({ family, newSeed }: MusicServices): ModelEndpoint<MusicContext>[] {
  const common = {
    method: 'POST',
    match: 'ending',
    access: 'guarded',
    queued: true,
    modelSelection: 'any-name',
    family,
  } as const;

  async function prepare({ body, signal }: Call, { taskServices }: MusicContext): Promise<Reply> {
    // Status 200: the music page then plans with the text model.
    if (!taskServices?.music) return json({ error: missing().message });
    return json(encodeSongFields(decodeSong(await jsonObject(body, { empty: 'object', signal }), newSeed)));
  }

  async function generate(call: Call, { taskServices }: MusicContext): Promise<Reply> {
    const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
    const fields = decodeSong(body, newSeed);
    if (!taskServices?.music) throw missing();
    const request = musicRequest(fields);
    const events = taskServices.music.generate(request, ticketFor(call, fields.genkey));
    return encodeSongFile(events, request.format, ignoredHeader(ignoredFields(body, musicFidelity)));
  }

  return [
    {
      ...common,
      path: '/api/extra/music/prepare',
      summary: 'The complete parameters of a song, to be posted to /api/extra/music/generate.',
      handle: prepare,
    },
    {
      ...common,
      path: '/api/extra/music/generate',
      summary: 'A song as a file: wav (48 kHz, stereo) or mp3.',
      handle: generate,
    },
  ];
}

function missing(): AppError {
  const flag = '--musicllm, --musicembeddings, --musicdiffusion and --musicvae';
  return new AppError('model-missing', { capability: 'music', flag });
}
