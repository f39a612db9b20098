import type { ChatRequest } from '../chat/request.ts';
import type { GenerationControls } from '../core/request.ts';
import { inSlices, type Sliced } from '../core/slices.ts';
import type { JsonObject } from '../http/body.ts';
import { type ControlLimits, chatLimits, idleFields, readControls } from './controls/decode.ts';
import type { Controls } from './controls/table.ts';
import { type DialectContext, dialectControls } from './dialect.ts';
import { withCollections } from './documents/collections.ts';
import { type LoadedFiles, loadFiles, type SentFile } from './documents/sent-files.ts';
import { type Fields, ignoredIn, isObject, readFields, type Table } from './fields.ts';
import { type Attachments, withMedia } from './media.ts';

/** What a body contains without effect; replies name it in headers. */
export interface Notices {
  /** The paths of fields without effect. */
  readonly ignored: readonly string[];
  /** The fields that switch thinking off, which have no effect if the chat format of the model cannot do that. */
  readonly thinkingOff: readonly string[];
}

/** A body that asks for text, read once. */
export interface ReadBody<Declared> {
  /** The fields of the dialect. */
  readonly fields: Fields<Declared>;
  /** The native controls beside them: as they were sent, and decoded. The dialect puts its own fields over them. */
  readonly native: Controls;
  readonly controls: GenerationControls;
  readonly limits: ControlLimits;
  readonly notices: Notices;
}

type Context = Pick<DialectContext, 'controlLimits'>;

/** The body of a chat, which may have its own adapter. `nativeBody`: where native controls are read, if elsewhere. */
export function readChat<const Declared extends Table>(
  table: Declared,
  body: JsonObject,
  context: Context,
  nativeBody = body,
): ReadBody<Declared> {
  return readBody(table, body, nativeBody, context, chatLimits);
}

/** The body of a text to be continued. */
export function readCompletion<const Declared extends Table>(
  table: Declared,
  body: JsonObject,
  context: Context,
  nativeBody = body,
): ReadBody<Declared> {
  return readBody(table, body, nativeBody, context, (_, limits) => limits);
}

function readBody<const Declared extends Table>(
  table: Declared,
  body: JsonObject,
  nativeBody: JsonObject,
  { controlLimits }: Context,
  limitsFor: typeof chatLimits,
): ReadBody<Declared> {
  const fields = readFields(table, body);
  const native = readControls(nativeBody);
  const limits = limitsFor(native, controlLimits());
  const ignored = [...ignoredIn(table, body), ...idleFields(native)];
  const thinkingOff = thinkingSwitches.filter((path) => isOff(valueAt(nativeBody, path)));
  const controls = dialectControls(native, limits);
  return { fields, native, controls, limits, notices: { ignored, thinkingOff } };
}

/** The fields that can switch thinking off, in all dialects. */
const thinkingSwitches: readonly string[] = [
  'chat_template_kwargs.enable_thinking',
  'reasoning_effort',
  'reasoning.effort',
  'reasoning.enabled',
  'thinking',
  'think',
];

function valueAt(body: JsonObject, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), body);
}

function isOff(value: unknown): boolean {
  return value === false || value === 'none' || value === 'off' || (isObject(value) && value.type === 'disabled');
}

/** A decoded chat whose media and passages are still missing. */
interface WithAttachments {
  readonly request: ChatRequest;
  readonly attachments: Attachments;
  readonly collections: readonly string[];
}

type WithFilesOptions = Pick<DialectContext, 'text' | 'fetchMedia'> &
  Omit<Parameters<typeof withCollections>[2], 'contextSize' | 'itemized'>;

/** Loads the files of a chat, decodes all else in slices, fetches its media, and adds the passages of its collections. */
export async function decodeWithFiles<Decoded extends WithAttachments>(
  files: ReadonlyMap<object, SentFile>,
  decode: (loaded: LoadedFiles) => Sliced<Decoded>,
  { text, fetchMedia, own, marks, signal }: WithFilesOptions,
): Promise<Decoded> {
  const loaded = await loadFiles(files, { own, fetchMedia, signal });
  const decoded = await inSlices(decode(loaded), { signal });
  const request = await withMedia(decoded.request, decoded.attachments, { fetchMedia, signal });
  const options = { own, marks, itemized: true, contextSize: text.contextSize(), signal };
  return { ...decoded, request: await withCollections(request, decoded.collections, options) };
}
