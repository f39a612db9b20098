import { readFile } from 'node:fs/promises';
import { AppError } from '../core/errors.ts';
import { type JsonObject, jsonObject } from '../http/body.ts';
import type { Call } from '../http/call.ts';
import { described, optional, type Read, readText, wrong } from './fields/readers.ts';
import { base64Schema } from './fields/schemas.ts';
import { bodyOfForm } from './form-body.ts';
import { inlineBase64 } from './inline-medium.ts';

export interface SentRecording {
  readonly bytes: Uint8Array;
  readonly fileName: string;
  /** Where it stood, for what is wrong with it. */
  readonly field: string;
}

/** The fields of a request that brings a recording, as a form or as JSON. */
export async function recordingBody(call: Call): Promise<JsonObject> {
  if (call.form) return bodyOfForm(call.form);
  return jsonObject(call.body, { empty: 'refuse', signal: call.signal });
}

/** Base64 in a field, as it is or as a data URL; an empty one is none. */
export const readInlineRecording: Read<Uint8Array | undefined> = described(
  base64Schema,
  optional((value, path) => {
    const text = readText(value, path);
    return text === '' ? undefined : Buffer.from(inlineBase64(text, path, 'a recording').base64, 'base64');
  }),
);

/** The recording itself: the file of a form, or what a field holds. */
export async function sentRecording(
  { form, signal }: Call,
  fields: { readonly file: Uint8Array | undefined; readonly audio_data: Uint8Array | undefined },
): Promise<SentRecording> {
  const files = form?.files ?? [];
  const file = files.find(({ field }) => /^(?:file|audio_data)(?:\[\])?$/.test(field)) ?? files[0];
  if (file) return { bytes: await readFile(file.path, { signal }), fileName: file.name, field: file.field };
  if (fields.file) return { bytes: fields.file, fileName: '', field: 'file' };
  if (fields.audio_data) return { bytes: fields.audio_data, fileName: '', field: 'audio_data' };
  throw wrong('file', 'a recording');
}

/** Whoever decodes it does not know what the client called it. */
export function locateRecording(error: unknown, { field }: SentRecording): unknown {
  if (!(error instanceof AppError) || field === 'file') return error;
  const details = error.details as { readonly field?: string };
  if (details.field !== 'file') return error;
  return new AppError(error.code, { ...details, field } as never, { cause: error });
}
