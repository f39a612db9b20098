import { AppError } from '../../core/errors.ts';
import { hiddenModelName } from '../../core/model-names.ts';
import type { SpeechRequest, Voice } from '../../core/speech.ts';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { fileReply } from '../../http/static-files.ts';
import { type DialectParts, noticeHeaders } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { orElse, readText } from '../fields/readers.ts';
import { readFields } from '../fields/table.ts';
import { allSound, begunSpeech, streamedSound, wholeSound } from '../spoken-reply.ts';
import { type SpokenFields, speechOf, spokenText } from '../spoken-text.ts';
import { ticketFor } from '../ticket.ts';
import { xttsFamily } from './errors.ts';
import { settingsFidelity, streamFields, toAudioFidelity, toAudioFields } from './fields.ts';
import { languages } from './languages.ts';
import { keepSound, outputName } from './output-folder.ts';
import { usualSettings, withSettings } from './settings.ts';
import { vitsEndpoints } from './vits.ts';

/** What depends on the model that a call concerns. */
export interface XttsContext extends Pick<DialectParts, 'others'> {
  /** The recordings of `--ttsdir`; empty for none. */
  readonly sampleFolder: string;
}

export interface XttsServices extends Pick<DialectParts, 'newId'> {
  /** The only place where clients may have sound written. */
  readonly outputFolder: string;
}

type Own = ModelEndpoint<XttsContext>;

/**
 * The routes of xtts-api-server, and those of the simple API for VITS, which front ends with speech call. The settings of
 * /set_tts_settings hold for the whole server.
 */
export function xttsEndpoints({ newId, outputFolder }: XttsServices): Own[] {
  let settings = usualSettings;
  const speech = async (call: Call, fields: SpokenFields, parts: XttsContext, streamed: boolean) => {
    const service = speechOf(parts);
    const { spoken, notes } = await spokenText(fields, service);
    const request: SpeechRequest = { ...spoken, speed: settings.speed, format: 'wav', streamed };
    const begun = await begunSpeech(service.speak(request, ticketFor(call, fields.genkey ?? '')));
    return { ...begun, notes: [...notes, ...begun.notes] };
  };

  async function toAudio(call: Call, parts: XttsContext): Promise<Reply> {
    const body = await bodyOf(call);
    const begun = await speech(call, readFields(toAudioFields, body), parts, false);
    return wholeSound(begun, { format: 'wav', name: 'output', headers: noticeHeaders(body, toAudioFidelity) });
  }

  async function asStream(call: Call, parts: XttsContext): Promise<Reply> {
    const begun = await speech(call, readFields(streamFields, Object.fromEntries(call.query)), parts, true);
    return streamedSound(begun, { format: 'wav', name: 'output', headers: { 'content-type': 'audio/x-wav' } });
  }

  async function toFile(call: Call, parts: XttsContext): Promise<Reply> {
    const body = await bodyOf(call);
    const name = outputName(orElse(readText, '')(body.file_name_or_path, 'file_name_or_path'));
    const { events } = await speech(call, readFields(toAudioFields, body), parts, false);
    await keepSound(outputFolder, name, await allSound(events), newId('speech-'));
    return json({ message: 'The audio was successfully made and stored.', output_path: name });
  }

  async function set(call: Call): Promise<Reply> {
    const body = await bodyOf(call);
    settings = withSettings(settings, body);
    return json({ message: 'Settings successfully applied' }, 200, noticeHeaders(body, settingsFidelity));
  }

  const speaking = { access: 'guarded', queued: true, modelSelection: 'any-name' } as const;
  return [
    { ...post('/tts_to_audio', 'A text as a WAV file.', toAudio), ...speaking },
    { ...get('/tts_stream', 'A text as a WAV file that is sent while it is made.', asStream), ...speaking },
    {
      ...post('/tts_to_file', 'A text as a WAV file in the folder of this server for such files.', toFile),
      ...speaking,
    },
    get('/speakers_list', 'The names of the voices.', async (_, parts) =>
      json((await voicesOf(parts)).map(({ name }) => name)),
    ),
    get('/speakers', 'The voices as objects.', speakers),
    get('/languages', 'Codes of languages by their names.', () => json({ languages })),
    get('/get_tts_settings', 'What /set_tts_settings has set.', () => json(settings)),
    post('/set_tts_settings', 'The pace, for all that follows; other settings are kept without effect.', set),
    get('/get_models_list', 'The voice model.', ({ authorized }, { others }) => {
      const service = others?.speech;
      return json(service ? [authorized ? service.name : hiddenModelName] : []);
    }),
    post('/switch_model', 'Possible for the model that is there.', switchModel),
    get('/get_folders', 'Folders of a server are its own business: always empty.', () =>
      json({ speaker_folder: '', output_folder: '', model_folder: '' }),
    ),
    post('/set_output', 'Refused: clients do not choose folders of the server.', refuseFolder),
    post('/set_speaker_folder', 'Refused: clients do not choose folders of the server.', refuseFolder),
    { ...get('/sample/', 'A sample of --ttsdir.', sample), match: 'prefix' },
    ...vitsEndpoints,
  ];
}

function get(path: string, summary: string, handle: Own['handle']): Own {
  return { method: 'GET', match: 'ending', path, access: 'open', queued: false, summary, family: xttsFamily, handle };
}

function post(path: string, summary: string, handle: Own['handle']): Own {
  return { ...get(path, summary, handle), method: 'POST', access: 'guarded' };
}

async function voicesOf({ others }: XttsContext): Promise<readonly Voice[]> {
  return (await others?.speech?.voices()) ?? [];
}

async function speakers({ headers }: Call, parts: XttsContext): Promise<Reply> {
  const base = headers.host === undefined ? '' : `http://${headers.host}`;
  const preview = ({ name, sample }: Voice) => (sample ? `${base}/sample/${encodeURIComponent(name)}` : '');
  const list = await voicesOf(parts);
  return json(list.map((voice) => ({ name: voice.name, voice_id: voice.name, preview_url: preview(voice) })));
}

async function switchModel(call: Call, parts: XttsContext): Promise<Reply> {
  const name = orElse(readText, '')((await bodyOf(call)).model_name, 'model_name');
  if (name === speechOf(parts).name) return json({ message: `Model switched to ${name}` });
  const feature = `Switching to ${JSON.stringify(name)}`;
  throw new AppError('unsupported', { feature, instead: 'one voice model is served, that of --ttsmodel' });
}

async function sample({ method, path, headers }: Call, parts: XttsContext): Promise<Reply> {
  const sent = path.slice('/sample/'.length);
  const listed = (await voicesOf(parts)).some((voice) => voice.sample && encodeURIComponent(voice.name) === sent);
  const reply = listed ? await fileReply({ folder: parts.sampleFolder }, { path: sent, headers }) : undefined;
  if (!reply) throw new AppError('not-found', { method, path });
  return reply;
}

function refuseFolder(): Reply {
  const detail =
    'Folders of this server cannot be chosen by clients. Start it with --ttsdir FOLDER to list voice samples.';
  return json({ detail }, 403);
}

function bodyOf({ body, signal }: Call): Promise<JsonObject> {
  return jsonObject(body, { empty: 'refuse', signal });
}
