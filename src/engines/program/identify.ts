import type { EngineProgramKind } from '../../config/engine.ts';
import { isWhisperServer } from '../remote/audio.ts';
import { identifyByModels } from '../remote/backend.ts';
import type { BackendConnection } from '../remote/connection.ts';
import { RemoteFailure } from '../remote/failure.ts';
import { objectAt } from '../remote/json.ts';
import type { Identity } from '../remote/kinds.ts';

export type ProgramTask = 'text' | 'embedding' | 'image' | 'speech' | 'transcription';

/** What a program is, and what it can do. */
export interface ProgramIdentity extends Identity {
  readonly tasks: readonly ProgramTask[];
}

const probeMs = 4000;

const tasksOf: Readonly<Record<EngineProgramKind, readonly [ProgramTask, ...ProgramTask[]]>> = {
  text: ['text', 'embedding'],
  embeddings: ['embedding'],
  rerank: ['embedding'],
  images: ['image'],
  a1111: ['image'],
  comfyui: ['image'],
  speech: ['speech'],
  transcription: ['transcription'],
  audio: ['speech', 'transcription'],
};

/** The kind of its registry entry: its only task, or text; undefined for `audio`, which is two, and where only the running program can tell. */
export function mainTask(kind: EngineProgramKind | undefined): ProgramTask | undefined {
  const [first, second] = kind ? tasksOf[kind] : [];
  return first === 'text' || second === undefined ? first : undefined;
}

/** The one model of the program has the name of the engine here. */
export async function identifyProgram(
  connection: BackendConnection,
  { name, kind }: { readonly name: string; readonly kind: EngineProgramKind | undefined },
): Promise<ProgramIdentity> {
  const identity = await identified(connection, kind);
  const [first = { id: name, contextSize: undefined, embeds: false }] = identity.models;
  return { ...identity, models: [{ ...first, name }] };
}

async function identified(
  connection: BackendConnection,
  kind: EngineProgramKind | undefined,
): Promise<ProgramIdentity> {
  if (kind && tasksOf[kind].includes('image')) return imageIdentity(connection, kind);
  // Programs for sound may have no list of models.
  const sound = kind !== undefined && tasksOf[kind].some((task) => task === 'speech' || task === 'transcription');
  const listed = await identifyByModels(connection).catch(undefinedIfMissing);
  if (sound) return { ...(listed ?? unlisted), tasks: tasksOf[kind] };
  if (kind && listed) return { ...listed, tasks: tasksOf[kind] };
  // A product of its own, and not any server with a list of models.
  if (listed && listed.kind !== 'openai') return { ...listed, tasks: tasksOf.text };
  const image = await imageIdentity(connection, 'images').catch(undefinedIfMissing);
  if (image) return image;
  const tasks = await soundTasks(connection);
  if (tasks.length > 0) return { ...(listed ?? unlisted), tasks };
  if (listed) return { ...listed, tasks: tasksOf.text };
  const sentence = 'it has none of the known APIs; set "kind" to say what it does';
  throw new RemoteFailure('failed', connection.target.host, sentence);
}

const unlisted: Identity = { kind: 'audio', models: [], inputs: { image: false, audio: false } };

async function imageIdentity(connection: BackendConnection, kind: EngineProgramKind): Promise<ProgramIdentity> {
  const { identifyImageServer } = await import('../remote/image-servers/identify.ts');
  const product = kind === 'a1111' || kind === 'comfyui' ? kind : undefined;
  return { ...(await identifyImageServer(connection, product)), tasks: tasksOf.images };
}

/** By the OpenAPI document that servers in Python have, or by the page of whisper-server. */
async function soundTasks(connection: BackendConnection): Promise<readonly ProgramTask[]> {
  const paths = await connection.json('GET', '/openapi.json', undefined, { milliseconds: probeMs }).then(
    (document) => Object.keys(objectAt(objectAt(document).paths)),
    (): readonly string[] => [],
  );
  const tasks: ProgramTask[] = [];
  if (paths.includes('/v1/audio/speech')) tasks.push('speech');
  if (paths.includes('/v1/audio/transcriptions')) tasks.push('transcription');
  if (tasks.length > 0) return tasks;
  return (await isWhisperServer(connection)) ? ['transcription'] : [];
}

/** Undefined if the path is missing, or answers something else; throws other errors again. */
function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof RemoteFailure && (error.type === 'failed' || error.type === 'refused')) return undefined;
  throw error;
}
