import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { root } from './set-up.mjs';

// `node scripts/icons.mjs` renews the icons of web/public/ that are made of icon.svg.
const folder = fileURLToPath(new URL('web/public/', root));
const icon = readFileSync(`${folder}icon.svg`, 'utf8');
const bubble = /<path[^>]*transform[^>]*>/.exec(icon)[0];
const lines = /<path[^>]*stroke[^>]*>/.exec(icon)[0];
const svg = (inner) => Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">${inner}</svg>`);
/** Systems cut icons to their own shape: the ground fills the square, and the sign stays within the middle. */
const fullBleed = (scale) =>
  svg(
    `<rect width="64" height="64" fill="#1f7a66"/><g transform="translate(32 32) scale(${scale}) translate(-32 -32)">${bubble}${lines}</g>`,
  );
/** Android shows only the shape of it, in the bar of notifications. */
const badge = svg(
  `<mask id="m"><rect width="64" height="64" fill="#000"/>${bubble}${lines.replace('#1f7a66', '#000')}</mask><rect width="64" height="64" fill="#fff" mask="url(#m)"/>`,
);

const made = {
  'icon-192.png': [Buffer.from(icon), 192],
  'icon-512.png': [Buffer.from(icon), 512],
  'icon-maskable-512.png': [fullBleed(0.86), 512],
  'icon-apple-180.png': [fullBleed(0.95), 180],
  'icon-badge-96.png': [badge, 96],
};
for (const [name, [source, size]] of Object.entries(made)) {
  await sharp(source, { density: 72 * (size / 64) * 2 })
    .resize(size, size)
    .png({ compressionLevel: 9, palette: name !== 'icon-badge-96.png' })
    .toFile(`${folder}${name}`);
}
