import { AppError } from '../../core/errors.ts';
import { hiddenModelName } from '../../core/model-names.ts';
import type { SpeechRequest, Voice } from '../../core/speech.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, type Family, json, type Reply } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import { fileReply } from '../../http/static-files.ts';
import { type DialectParts, noticeHeaders } from '../dialect.ts';
import { bodyOf, endpointRow, type ModelEndpoint } from '../endpoint.ts';
import { clamp, orElse, readFields, readText } from '../fields.ts';
import { allSound, startedSpeech, streamedSound, wholeSound } from '../spoken-reply.ts';
import { paces, type SpokenFields, speechOf, spokenText } from '../spoken-text.ts';
import { ticketFor } from '../ticket.ts';
import { settingsFidelity, streamFields, toAudioFidelity, toAudioFields, vitsFidelity, vitsFields } from './fields.ts';
import { outputName, saveSound } from './output-folder.ts';
import { defaultSettings, withSettings } from './settings.ts';

/** Per-model part of the context. */
export interface XttsContext extends Pick<DialectParts, 'taskServices'> {
  /** The recordings of `--ttsdir`; empty for none. */
  readonly sampleFolder: string;
}

/** As in the original, `detail` is a sentence, or a list if a field is wrong. */
export const xttsFamily: Family = {
  name: 'xtts',
  title: 'XTTS API server',
  errorReply(error) {
    const { code, details, message: msg, status } = error;
    if (code === 'invalid-field' && 'field' in details) {
      const field = details.field === 'input' ? 'text' : details.field;
      return json({ detail: [{ loc: ['body', field], msg, type: 'value_error' }] }, 422);
    }
    const detail = code === 'model-missing' ? { msg, type: 'service_unavailable' } : msg;
    return json({ detail, ...busyDetail(error) }, status, retryHeaders(error));
  },
};

export const vitsFamily: Family = {
  name: 'vits',
  title: 'VITS simple API',
  errorReply: (error) =>
    json({ status: 'error', message: error.message, ...busyDetail(error) }, error.status, retryHeaders(error)),
};

/**
 * The endpoints of xtts-api-server, and those of vits-simple-api, which front ends with speech call. Settings of
 * /set_tts_settings apply to all clients. `outputFolder` is the only folder in which clients can have files written.
 */
export function xttsEndpoints({ outputFolder }: { readonly outputFolder: string }): ModelEndpoint<XttsContext>[] {
  let settings = defaultSettings;

  async function toAudio(call: Call, parts: XttsContext): Promise<Reply> {
    const body = await bodyOf(call);
    const begun = await speak(call, readFields(toAudioFields, body), parts, { speed: settings.speed });
    return wholeSound(begun, { format: 'wav', name: 'output', headers: noticeHeaders(body, toAudioFidelity) });
  }

  async function asStream(call: Call, parts: XttsContext): Promise<Reply> {
    const fields = readFields(streamFields, Object.fromEntries(call.query));
    const begun = await speak(call, fields, parts, { speed: settings.speed, streamed: true });
    return streamedSound(begun, { format: 'wav', name: 'output', headers: { 'content-type': 'audio/x-wav' } });
  }

  async function toFile(call: Call, parts: XttsContext): Promise<Reply> {
    const body = await bodyOf(call);
    const name = outputName(orElse(readText, '')(body.file_name_or_path, 'file_name_or_path'));
    const { events } = await speak(call, readFields(toAudioFields, body), parts, { speed: settings.speed });
    await saveSound(outputFolder, name, await allSound(events));
    return json({ message: 'The audio was successfully made and stored.', output_path: name });
  }

  async function set(call: Call): Promise<Reply> {
    const body = await bodyOf(call);
    settings = withSettings(settings, body);
    return json({ message: 'Settings successfully applied' }, 200, noticeHeaders(body, settingsFidelity));
  }

  return [
    post('/tts_to_audio', 'A text as a WAV file.', toAudio, speech),
    get('/tts_stream', 'A text as a WAV file that is streamed.', asStream, speech),
    post('/tts_to_file', 'A text as a WAV file in the output folder of the server.', toFile, speech),
    get('/speakers_list', 'The names of the voices.', async (_, parts) =>
      json((await voicesOf(parts)).map(({ name }) => name)),
    ),
    get('/speakers', 'The voices as objects.', speakers),
    get('/languages', 'Codes of languages by their names.', () => json({ languages })),
    get('/get_tts_settings', 'The settings of /set_tts_settings.', () => json(settings)),
    post('/set_tts_settings', 'The speed, for all later requests; other settings are stored without effect.', set),
    get('/get_models_list', 'The voice model.', ({ authorized }, { taskServices }) => {
      const service = taskServices?.speech;
      return json(service ? [authorized ? service.name : hiddenModelName] : []);
    }),
    post('/switch_model', 'Accepts the name of the loaded model.', switchModel),
    get('/get_folders', 'Always empty: clients need not know folders of the server.', () =>
      json({ speaker_folder: '', output_folder: '', model_folder: '' }),
    ),
    post('/set_output', 'Refused: clients do not choose folders of the server.', refuseFolder),
    post('/set_speaker_folder', 'Refused: clients do not choose folders of the server.', refuseFolder),
    get('/sample/', 'A sample of --ttsdir.', sample, { match: 'prefix' }),
    get('/voice/speakers', 'The voices by their numbers.', vitsSpeakers, vits),
    get('/voice/check', 'Succeeds if there is a speech model.', vitsCheck, vits),
    get('/voice/vits', vitsSummary, (call, parts) => vitsSpeech(call, Object.fromEntries(call.query), parts), {
      ...vits,
      ...speech,
    }),
    post('/voice/vits', vitsSummary, async (call, parts) => vitsSpeech(call, await formFields(call), parts), {
      ...vits,
      ...speech,
      form: { files: 0 },
    }),
  ];
}

const speech = { queued: true, modelSelection: 'any-name' } as const;
const vits = { family: vitsFamily } as const;
const vitsSummary = 'A text as speech, by the number of a voice.';

const get = endpointRow({ method: 'GET', match: 'ending', queued: false, family: xttsFamily });
const post = endpointRow({ method: 'POST', match: 'ending', queued: false, family: xttsFamily });

/** The languages of the original. */
const languages: Readonly<Record<string, string>> = {
  Arabic: 'ar',
  'Brazilian Portuguese': 'pt',
  Chinese: 'zh-cn',
  Czech: 'cs',
  Dutch: 'nl',
  English: 'en',
  French: 'fr',
  German: 'de',
  Italian: 'it',
  Polish: 'pl',
  Russian: 'ru',
  Spanish: 'es',
  Turkish: 'tr',
  Japanese: 'ja',
  Korean: 'ko',
  Hungarian: 'hu',
  Hindi: 'hi',
};

async function speak(call: Call, fields: SpokenFields, parts: XttsContext, shape: Partial<SpeechRequest>) {
  const service = speechOf(parts);
  const { spoken, notes } = await spokenText(fields, service);
  const request: SpeechRequest = { ...spoken, speed: 1, format: 'wav', streamed: false, ...shape };
  const begun = await startedSpeech(service.speak(request, ticketFor(call, fields.genkey ?? '')));
  return { ...begun, notes: [...notes, ...begun.notes] };
}

async function voicesOf({ taskServices }: XttsContext): Promise<readonly Voice[]> {
  return (await taskServices?.speech?.voices()) ?? [];
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

async function vitsSpeakers(_: Call, parts: XttsContext): Promise<Reply> {
  const numbered = (await voicesOf(parts)).map(({ name, language }, id) => ({ id, lang: [language || 'en'], name }));
  return json({ VITS: numbered, 'W2V2-VITS': [], 'BERT-VITS2': [] });
}

function vitsCheck(_: Call, parts: XttsContext): Reply {
  speechOf(parts);
  return json({ status: 'success' });
}

async function vitsSpeech(call: Call, sent: JsonObject, parts: XttsContext): Promise<Reply> {
  const { id, lang: language, length, format, text } = readFields(vitsFields, sent);
  // Numbers of voices count from 0 here, and from 1 in the list of voices.
  const voice = /^\d+$/.test(id) ? String(Number(id) + 1) : id;
  const speed = length > 0 ? clamp(1 / length, paces.least, paces.most) : 1;
  const begun = await speak(call, { text, voice, language }, parts, { speed, format });
  return wholeSound(begun, { format, name: 'output', headers: noticeHeaders(sent, vitsFidelity) });
}

/** A form in one of its two encodings, or JSON. */
async function formFields(call: Call): Promise<JsonObject> {
  if (call.form) return Object.fromEntries([...call.form.fields].map(([name, values]) => [name, values[0]]));
  if (/^application\/x-www-form-urlencoded\b/i.test(call.headers['content-type'] ?? '')) {
    return Object.fromEntries(new URLSearchParams(call.body.toString('utf8')));
  }
  return bodyOf(call);
}
