import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '../../config/flags.ts';
import { AppError } from '../../core/errors.ts';
import { hiddenModelName } from '../../core/model-names.ts';
import { Libraries, libraryOf, noKey, type Owner } from '../../core/owner.ts';
import { fileNameOf } from '../../core/person-data.ts';
import type { SpeechFormat, Voice } from '../../core/speech.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { busyDetail, retryHeaders } from '../../http/error-reply.ts';
import { fileReply } from '../../http/static-files.ts';
import { replaceFile } from '../../store/atomic-file.ts';
import { information, keyInQuery, legacyOpen, write } from '../access.ts';
import { type DialectContext, ignoredHeader } from '../dialect.ts';
import { bodyOf, type DocumentedDialect, endpointRow, type ModelEndpoint } from '../endpoint.ts';
import * as f from '../fields.ts';
import { allSound, speak, streamedSound, wholeSound } from '../spoken-reply.ts';
import { readVoiceName, speechOf, speedRange, spokenFields, spokenNotes } from '../spoken-text.ts';
import { defaultSettings, withSettings } from './settings.ts';

/** Per-model part of the context. */
interface XttsContext extends Pick<DialectContext, 'taskServices'> {
  readonly settings: Pick<Settings, 'ttsdir'>;
}

/** As in the original, `detail` is a sentence, or a list if a field is wrong. */
export const xttsDialect: DocumentedDialect = {
  name: 'xtts',
  title: 'XTTS API server',
  emulation: true,
  responses: () => import('./responses.ts'),
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

export const vitsDialect: DocumentedDialect = {
  name: 'vits',
  title: 'VITS simple API',
  emulation: true,
  responses: () => import('./responses.ts'),
  errorReply: (error) =>
    json({ status: 'error', message: error.message, ...busyDetail(error) }, error.status, retryHeaders(error)),
};

/** Those of /set_tts_settings. */
export const speechSettings = () => new Libraries(() => ({ current: defaultSettings }));
export type SpeechSettings = ReturnType<typeof speechSettings>;

/**
 * The endpoints of xtts-api-server, and those of vits-simple-api, which front ends with speech call. Settings of
 * /set_tts_settings apply to all clients of a library. `outputFolder` is the only folder in which clients can have files written; a key
 * with a library of its own has a folder below it.
 */
export function xttsEndpoints({
  outputFolder,
  speechSettings: settings = speechSettings(),
}: {
  readonly outputFolder: string;
  readonly speechSettings?: SpeechSettings;
}): ModelEndpoint<XttsContext>[] {
  const wholeWav = (call: Call) =>
    ({ speed: settings.of(call).current.speed, format: 'wav', streamed: false }) as const;

  async function toAudio(call: Call, context: XttsContext): Promise<Reply> {
    const body = await bodyOf(call);
    const begun = await speak(call, f.readFields(toAudioFields, body), context, wholeWav(call));
    return wholeSound(begun, { format: 'wav', name: 'output', headers: ignoredHeader(toAudioFields, body) });
  }

  async function asStream(call: Call, context: XttsContext): Promise<Reply> {
    const fields = f.readFields(streamFields, Object.fromEntries(call.query));
    const begun = await speak(call, fields, context, { ...wholeWav(call), streamed: true });
    return streamedSound(begun, { format: 'wav', name: 'output', headers: { 'content-type': 'audio/x-wav' } });
  }

  async function toFile(call: Call, context: XttsContext): Promise<Reply> {
    const body = await bodyOf(call);
    const name = outputName(f.orElse(f.readText, '')(body.file_name_or_path, 'file_name_or_path'));
    const { events } = await speak(call, f.readFields(toAudioFields, body), context, wholeWav(call));
    await saveSound(outputOf(outputFolder, libraryOf(call)), name, await allSound(events));
    return json({ message: 'The audio was successfully made and stored.', output_path: name });
  }

  async function set(call: Call): Promise<Reply> {
    const body = await bodyOf(call);
    const own = settings.of(call);
    own.current = withSettings(own.current, body);
    return json({ message: 'Settings successfully applied' }, 200, ignoredHeader(settingsFields, body));
  }

  return [
    post('/tts_to_audio', 'A text as a WAV file.', toAudio, { fields: toAudioFields, response: 'wav', ...speech }),
    get('/tts_stream', 'A text as a WAV file that is streamed.', asStream, {
      ...legacyOpen(keyInQuery(write('audio'))),
      fields: streamFields,
      response: 'stream',
      ...speech,
    }),
    post('/tts_to_file', 'A text as a WAV file in the output folder of the server.', toFile, {
      ...write('audio'),
      fields: toAudioFields,
      response: 'savedFile',
      ...speech,
    }),
    get(
      '/speakers_list',
      'The names of the voices.',
      async (_, context) => json((await voicesOf(context)).map(({ name }) => name)),
      { response: 'names' },
    ),
    get('/speakers', 'The voices as objects.', speakers, { response: 'speakers' }),
    get('/languages', 'Codes of languages by their names.', () => json({ languages }), { response: 'languages' }),
    get('/get_tts_settings', 'The settings of /set_tts_settings.', (call) => json(settings.of(call).current), {
      response: 'settings',
    }),
    post('/set_tts_settings', 'The speed, for all later requests; other settings are stored without effect.', set, {
      fields: settingsFields,
      response: 'message',
    }),
    get(
      '/get_models_list',
      'The voice model.',
      ({ authorized }, { taskServices }) => {
        const service = taskServices?.speech;
        return json(service ? [authorized ? service.name : hiddenModelName] : []);
      },
      { response: 'names' },
    ),
    post('/switch_model', 'Accepts the name of the loaded model.', switchModel, { response: 'message' }),
    get(
      '/get_folders',
      'Always empty: clients need not know folders of the server.',
      () => json({ speaker_folder: '', output_folder: '', model_folder: '' }),
      { response: 'folders' },
    ),
    post('/set_output', 'Refused: clients do not choose folders of the server.', refuseFolder, { response: 'refused' }),
    post('/set_speaker_folder', 'Refused: clients do not choose folders of the server.', refuseFolder, {
      response: 'refused',
    }),
    get('/sample/', 'A sample of --ttsdir.', sample, { match: 'prefix', response: 'sample' }),
    get('/voice/speakers', 'The voices by their numbers.', vitsSpeakers, { ...vits, response: 'vitsSpeakers' }),
    get('/voice/check', 'Succeeds if there is a speech model.', vitsCheck, { ...vits, response: 'vitsCheck' }),
    get('/voice/vits', vitsSummary, (call, context) => vitsSpeech(call, Object.fromEntries(call.query), context), {
      ...keyInQuery(write('audio')),
      fields: vitsFields,
      ...spoken,
    }),
    post('/voice/vits', vitsSummary, async (call, context) => vitsSpeech(call, await formFields(call), context), {
      ...write('audio'),
      fields: vitsFields,
      ...spoken,
      form: { files: 0 },
    }),
  ];
}

const speech = { queued: true, modelSelection: 'any-name' } as const;
const vits = { dialect: vitsDialect } as const;
const spoken = { ...vits, ...speech, response: 'speech' };
const vitsSummary = 'A text as speech, by the number of a voice.';

const get = endpointRow(information, { method: 'GET', dialect: xttsDialect });
const post = endpointRow(legacyOpen(write('audio')), { method: 'POST', dialect: xttsDialect });

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

async function voicesOf({ taskServices }: XttsContext): Promise<readonly Voice[]> {
  return (await taskServices?.speech?.voices()) ?? [];
}

async function speakers({ headers }: Call, context: XttsContext): Promise<Reply> {
  const base = headers.host === undefined ? '' : `http://${headers.host}`;
  const preview = ({ name, sample }: Voice) => (sample ? `${base}/sample/${encodeURIComponent(name)}` : '');
  const list = await voicesOf(context);
  return json(list.map((voice) => ({ name: voice.name, voice_id: voice.name, preview_url: preview(voice) })));
}

async function switchModel(call: Call, context: XttsContext): Promise<Reply> {
  const name = f.orElse(f.readText, '')((await bodyOf(call)).model_name, 'model_name');
  if (name === speechOf(context).name) return json({ message: `Model switched to ${name}` });
  const feature = `Switching to ${JSON.stringify(name)}`;
  throw new AppError('unsupported', { feature, instead: 'one voice model is served, that of --ttsmodel' });
}

async function sample({ method, path, headers }: Call, context: XttsContext): Promise<Reply> {
  const sent = path.slice('/sample/'.length);
  const listed = (await voicesOf(context)).some((voice) => voice.sample && encodeURIComponent(voice.name) === sent);
  const reply = listed ? await fileReply({ folder: context.settings.ttsdir }, { path: sent, headers }) : undefined;
  if (!reply) throw new AppError('not-found', { method, path });
  return reply;
}

function refuseFolder(): Reply {
  const detail =
    'Folders of this server cannot be chosen by clients. Start it with --ttsdir FOLDER to list voice samples.';
  return json({ detail }, 403);
}

async function vitsSpeakers(_: Call, context: XttsContext): Promise<Reply> {
  const numbered = (await voicesOf(context)).map(({ name, language }, id) => ({ id, lang: [language || 'en'], name }));
  return json({ VITS: numbered, 'W2V2-VITS': [], 'BERT-VITS2': [] });
}

function vitsCheck(_: Call, context: XttsContext): Reply {
  speechOf(context);
  return json({ status: 'success' });
}

async function vitsSpeech(call: Call, sent: JsonObject, context: XttsContext): Promise<Reply> {
  const { id, lang: language, length, format, text } = f.readFields(vitsFields, sent);
  // Numbers of voices count from 0 here, and from 1 in the list of voices.
  const voice = /^\d+$/.test(id) ? String(Number(id) + 1) : id;
  const speed = length > 0 ? f.clamp(1 / length, speedRange.min, speedRange.max) : 1;
  const begun = await speak(call, { text, voice, language }, context, { speed, format, streamed: false });
  return wholeSound(begun, { format, name: 'output', headers: ignoredHeader(vitsFields, sent) });
}

/** A form in one of its two encodings, or JSON. */
async function formFields(call: Call): Promise<JsonObject> {
  if (call.form) return Object.fromEntries([...call.form.fields].map(([name, values]) => [name, values[0]]));
  if (/^application\/x-www-form-urlencoded\b/i.test(call.headers['content-type'] ?? '')) {
    return Object.fromEntries(new URLSearchParams(call.body.toString('utf8')));
  }
  return bodyOf(call);
}

/** Where the files of a library are written. Names of files have an ending, those of folders have none. */
export function outputOf(folder: string, library: Owner): string {
  return library === noKey ? folder : join(folder, fileNameOf(library));
}

/** Limit of all files that clients of a library let the server write. */
const maxBytes = 2 ** 30;

/** The file name for a name that a client sent; refuses paths, hidden files and reserved names. */
export function outputName(sent: string): string {
  const name = /\.wav$/i.test(sent) ? sent : `${sent}.wav`;
  const plain = /^[\p{L}\p{N}_][\p{L}\p{N} _.-]{0,119}$/u.test(name) && !/[. ]\.wav$/i.test(name);
  const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(name);
  if (plain && !reserved) return name;
  const expected = 'a plain file name without folders: files are written to the folder of this server alone';
  throw new AppError('invalid-field', { field: 'file_name_or_path', expected });
}

let lastSave: Promise<unknown> = Promise.resolve();

/**
 * Writes a file atomically. A file of the same name is replaced; a link is replaced too, never followed. One file at a time: the
 * limit of the folder counts what is there.
 */
export function saveSound(folder: string, name: string, bytes: Uint8Array): Promise<string> {
  const save = lastSave.then(() => writeSound(folder, name, bytes));
  lastSave = save.catch(() => undefined);
  return save;
}

async function writeSound(folder: string, name: string, bytes: Uint8Array): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const used = await folderBytes(folder);
  if (used + bytes.length > maxBytes) {
    const reason = `the folder for speech holds ${Math.round(used / 2 ** 20)} MB, and more than 1024 MB are not kept; remove some files from it`;
    throw new AppError('engine-failed', { capability: 'speech', reason });
  }
  const path = join(folder, name);
  await replaceFile(path, [bytes]);
  return path;
}

async function folderBytes(folder: string): Promise<number> {
  const names = await readdir(folder);
  const sizes = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)));
  return sizes.reduce((sum, facts) => sum + (facts?.size ?? 0), 0);
}

const { language, genkey } = spokenFields;
const voiceName = f.optional(readVoiceName);

const streamFields = {
  text: f.honoured(f.optionalText, spokenNotes.text),
  speaker_wav: f.approximated(voiceName, spokenNotes.voice),
  language,
};

const toAudioFields = {
  ...streamFields,
  input: f.honoured(f.optionalText, 'Another name of text; wins over it.'),
  voice: f.approximated(voiceName, 'Another name of speaker_wav; wins over it.'),
  genkey,
  ...f.each(['accent', 'save_path'], f.ignored()),
  stream: f.ignored('Use /tts_stream.'),
};

const settingsFields = {
  speed: f.honoured(f.optional(f.looseNumber), 'For all later requests of all clients. Limited to 0.2 to 2.'),
  ...f.each(
    Object.keys(defaultSettings).filter((name) => name !== 'speed'),
    f.ignored('Stored, and returned by /get_tts_settings.'),
  ),
};

/** The names that the VITS API has for formats. */
const vitsFormats = new Map<string, SpeechFormat>([
  ['mp3', 'mp3'],
  ['ogg', 'opus'],
  ['opus', 'opus'],
  ['flac', 'flac'],
]);
const readFormat: f.Read<SpeechFormat> = (value) => vitsFormats.get(String(value).toLowerCase()) ?? 'wav';

const vitsFields = {
  text: f.honoured(f.orElse(f.readText, ''), spokenNotes.text),
  id: f.honoured(f.orElse(readVoiceName, ''), 'The number of a voice in /voice/speakers, or its name.'),
  lang: f.approximated(f.orElse(f.readText, ''), spokenNotes.language),
  length: f.honoured(f.orElse(f.looseNumber, 1), 'Relative duration; limited to 0.25 to 4.'),
  format: f.approximated(f.orElse(readFormat, 'wav'), 'wav, mp3, ogg (Opus) and flac; wav for all others.'),
  ...f.each(['noise', 'noisew', 'segment_size', 'max', 'streaming'], f.ignored()),
};
