import { formOf } from '../../testing/forms.ts';
import type { comfyWorld } from './world.ts';

/** Uploads a picture. */
export async function sendImage(
  { post }: Pick<ReturnType<typeof comfyWorld>, 'post'>,
  fields: Record<string, string>,
  bytes: Uint8Array,
  name = 'photo.png',
  path = '/upload/image',
) {
  return post(path, '', await formOf(fields, [{ field: 'image', name, bytes }]));
}
