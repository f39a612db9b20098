import type { Character } from '../conversations/character.ts';
import { cardOf, pngWithCard } from '../files/character-card.ts';
import { download, downloadJson, fileName } from '../files/download.ts';
import { isPng } from '../files/png-text.ts';

/** Saves a character as a card of version 3: JSON, or PNG with its picture. */
export async function exportCharacter(character: Character, form: 'json' | 'png'): Promise<void> {
  if (form === 'json') return downloadJson(character.name, cardOf(character));
  const content = pngWithCard(await pngOf(character), character);
  download({ name: fileName(character.name, '.png'), type: 'image/png', content });
}

/** The picture as PNG; other formats are converted, and a missing one is a plain square. */
async function pngOf({ picture, name }: Character): Promise<Uint8Array> {
  const bytes = picture && new Uint8Array(await picture.arrayBuffer());
  if (bytes && isPng(bytes)) return bytes;
  const image = picture && (await createImageBitmap(picture));
  const canvas = document.createElement('canvas');
  canvas.width = image?.width ?? 512;
  canvas.height = image?.height ?? 512;
  const context = canvas.getContext('2d');
  if (context && image) context.drawImage(image, 0, 0);
  else if (context) drawInitial(context, name);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  return new Uint8Array((await blob?.arrayBuffer()) ?? new ArrayBuffer(0));
}

function drawInitial(context: CanvasRenderingContext2D, name: string): void {
  const { width, height } = context.canvas;
  context.fillStyle = '#e2f0ec';
  context.fillRect(0, 0, width, height);
  context.fillStyle = '#135a4b';
  context.font = `600 ${height / 2}px system-ui, sans-serif`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText([...name.trim()][0]?.toUpperCase() ?? '?', width / 2, height / 2);
}
