import { expect, test } from 'vitest';
import { edited } from './edit.ts';

test('edited: an empty file is a broken picture, as every file that cannot be read', async () => {
  const edit = { type: 'encode', format: 'png', quality: 80 } as const;
  for (const bytes of [new Uint8Array(), Uint8Array.of(1, 2, 3)]) {
    const refused = { name: 'AppError', code: 'invalid-field', details: { field: 'mask' } };
    await expect(edited(edit, [{ bytes, field: 'mask' }])).rejects.toMatchObject(refused);
  }
});
