import { readFile } from 'node:fs/promises';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import type { Call } from '../../http/call.ts';
import { bodyOfForm } from '../recording.ts';
import { pictureOf, type SentPicture } from './sent-picture.ts';

/** The fields of a request that may bring pictures, as a form or as JSON. */
export async function pictureBody(call: Call): Promise<JsonObject> {
  if (call.form) return bodyOfForm(call.form);
  return jsonObject(call.body, { empty: 'refuse', signal: call.signal });
}

/** The files of a form under this name, with brackets behind it or without. */
export async function formPictures({ form, signal }: Call, name: string): Promise<readonly SentPicture[]> {
  const files = (form?.files ?? []).filter(({ field }) => field.replace(/\[\d*\]$/, '') === name);
  return Promise.all(
    files.map(async ({ path }, index) => {
      const place = files.length > 1 ? `${name}[${index}]` : name;
      return pictureOf(await readFile(path, { signal }), place);
    }),
  );
}
