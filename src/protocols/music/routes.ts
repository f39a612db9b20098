import { AppError } from '../../core/errors.ts';
import type { MusicEvent, MusicRequest, MusicService, SongFormat } from '../../core/music.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, type Family, type Headers, json, type Reply } from '../../http/call.ts';
import { ignoredIn } from '../dialect.ts';
import { bodyOf, endpointRow } from '../endpoint.ts';
import { type Fields, readFields } from '../fields.ts';
import { ticketFor } from '../ticket.ts';
import { musicFidelity, musicFields } from './fields.ts';

interface MusicContext {
  readonly taskServices?: { readonly music?: MusicService };
}

/** `family` is that of the native API, which these paths belong to. */
export function musicEndpoints({ family, newSeed }: { readonly family: Family; readonly newSeed: () => number }) {
  const row = endpointRow({ method: 'POST', match: 'ending', queued: true, modelSelection: 'any-name', family });

  async function prepare(call: Call, { taskServices }: MusicContext): Promise<Reply> {
    // Status 200: the music page then plans with the text model.
    if (!taskServices?.music) return json({ error: missing().message });
    return json(encodeSongFields(decodeSong(await bodyOf(call, 'object'), newSeed)));
  }

  async function generate(call: Call, { taskServices }: MusicContext): Promise<Reply> {
    const body = await bodyOf(call);
    const fields = decodeSong(body, newSeed);
    if (!taskServices?.music) throw missing();
    const request = musicRequest(fields);
    const events = taskServices.music.generate(request, ticketFor(call, fields.genkey));
    return encodeSongFile(events, request.format, ignoredIn(body, musicFidelity));
  }

  return [
    row(
      '/api/extra/music/prepare',
      'The complete parameters of a song, to be posted to /api/extra/music/generate.',
      prepare,
    ),
    row('/api/extra/music/generate', 'A song as a file: wav (48 kHz, stereo) or mp3.', generate),
  ];
}

function missing(): AppError {
  const flag = '--musicllm, --musicembeddings, --musicdiffusion and --musicvae';
  return new AppError('model-missing', { capability: 'music', flag });
}

const contentTypes: Readonly<Record<SongFormat, string>> = { wav: 'audio/wav', mp3: 'audio/mpeg' };

/** The parameters of a song, to be posted to `generate`. */
function encodeSongFields(fields: SongFields): object {
  const { genkey: _genkey, stereo: _stereo, use_mp3: _mp3, response_format: _format, audio_codes, ...song } = fields;
  return { ...song, task_type: 'text2music', thinking: false, audio_codes: audio_codes.join(',') };
}

/** The whole file: clients of this family decode it at once. */
async function encodeSongFile(events: AsyncIterable<MusicEvent>, format: SongFormat, headers: Headers): Promise<Reply> {
  const pieces: Uint8Array[] = [];
  for await (const event of events) if (event.type === 'audio') pieces.push(event.bytes);
  return {
    status: 200,
    headers: {
      'content-type': contentTypes[format],
      'content-disposition': `attachment; filename="output.${format}"`,
      ...headers,
    },
    body: Buffer.concat(pieces),
  };
}

type SongFields = Fields<typeof musicFields>;

/** The fields of a song, with a seed. */
function decodeSong(body: JsonObject, newSeed: () => number): SongFields {
  const fields = readFields(musicFields, body);
  const { caption, seed } = fields;
  return {
    ...fields,
    caption: caption.trim() === '' ? 'An interesting song' : caption,
    seed: seed > 0 ? seed : newSeed(),
  };
}

const instrumental = '[Instrumental]';

function musicRequest(fields: SongFields): MusicRequest {
  return {
    caption: fields.caption,
    lyrics: fields.instrumental ? instrumental : fields.lyrics.trim() || undefined,
    bpm: fields.bpm > 0 ? fields.bpm : undefined,
    seconds: fields.duration > 0 ? fields.duration : undefined,
    keyScale: fields.keyscale || undefined,
    timeSignature: fields.timesignature || undefined,
    language: fields.vocal_language,
    seed: fields.seed,
    planner: {
      temperature: fields.lm_temperature,
      topP: fields.lm_top_p,
      topK: fields.lm_top_k,
      guidance: fields.lm_cfg_scale,
    },
    codes: fields.audio_codes,
    steps: fields.inference_steps,
    shift: fields.shift,
    guidance: fields.guidance_scale,
    stereo: fields.stereo,
    format: fields.use_mp3 ? 'mp3' : fields.response_format,
  };
}
