/** What happens with a character card that was chosen as an attachment. */
export type CardUse = 'import' | 'offer';

type CardFile = Pick<File, 'name' | 'type' | 'size'>;

/** Whether it is worth reading the file to see if it is a character card. */
export function mayBeCard({ name, type, size }: CardFile): boolean {
  return size <= 64 * 2 ** 20 && (type === 'image/png' || /\.(png|charx|json)$/i.test(name));
}

/** One that the model can read is attached as asked, and offered as a character; any other is imported as a character. */
export function cardUse({ name }: Pick<File, 'name'>, { vision }: { readonly vision: boolean }): CardUse {
  return /\.json$/i.test(name) || (vision && !/\.charx$/i.test(name)) ? 'offer' : 'import';
}

export async function isCard(file: File): Promise<boolean> {
  if (!mayBeCard(file)) return false;
  // Readers of files are loaded when they are needed.
  const { contentOf } = await import('../../files/open-file.ts');
  const found = await contentOf(file, { newId: () => '', now: 0 }).catch(() => undefined);
  return found?.kind === 'character';
}
