// Draws the pictures of docs/images.md with the built server and the built-in model, through every endpoint that makes some.
// By hand, since it takes minutes: node scripts/build.mjs && node scripts/docs-pictures.mjs. Look at what comes out of it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

const pathOf = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const page = pathOf('docs/images.md');
const folder = pathOf('docs/pictures');
const [begin, end] = ['<!-- pictures: begin -->', '<!-- pictures: end -->'];
const steps = 14;
const size = { width: 256, height: 256 };

/** Images that others begin from, by name; requests contain a placeholder for each. */
const imagesByName = new Map();
const placeholder = (name) => `(${name}, in base64)`;

const sampler = { seed: 3, steps, cfg: 2.5, sampler_name: 'euler', scheduler: 'simple', denoise: 1 };
const links = { model: ['4', 0], positive: ['6', 0], negative: ['7', 0], latent_image: ['5', 0] };
const graph = {
  3: { class_type: 'KSampler', inputs: { ...sampler, ...links } },
  4: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'any' } },
  5: { class_type: 'EmptyLatentImage', inputs: { width: 64, height: 64 } },
  6: { class_type: 'CLIPTextEncode', inputs: { text: 'a rocket', clip: ['4', 1] } },
  7: { class_type: 'CLIPTextEncode', inputs: { text: '', clip: ['4', 1] } },
  8: { class_type: 'VAEDecode', inputs: { samples: ['3', 0], vae: ['4', 2] } },
  9: { class_type: 'SaveImage', inputs: { images: ['11', 0], filename_prefix: 'rocket' } },
  10: { class_type: 'UpscaleModelLoader', inputs: { model_name: 'ESRGAN-slim 4x' } },
  11: { class_type: 'ImageUpscaleWithModel', inputs: { upscale_model: ['10', 0], image: ['8', 0] } },
};

const requests = [
  {
    title: 'txt2img',
    path: '/sdapi/v1/txt2img',
    json: { prompt: 'a mushroom', seed: 3, steps, ...size },
    names: ['mushroom'],
  },
  {
    title: 'A batch',
    note: 'Seeds are consecutive: the second image is the one that seed 4 gives alone.',
    path: '/sdapi/v1/txt2img',
    json: { prompt: 'a blue bird', seed: 3, steps, batch_size: 2, ...size },
    names: ['bird', 'bird-2'],
  },
  {
    title: 'img2img',
    note: 'From the first bird, which keeps its position. A higher denoising strength preserves less of the initial image.',
    path: '/sdapi/v1/img2img',
    json: {
      prompt: 'a parrot',
      init_images: [placeholder('bird')],
      denoising_strength: 0.85,
      seed: 7,
      steps,
      ...size,
    },
    names: ['parrot'],
  },
  {
    title: 'Inpainting',
    note: 'The mask is white on the right, which is repainted; on the left no pixel changes.',
    path: '/sdapi/v1/img2img',
    json: {
      prompt: 'a purple mushroom',
      init_images: [placeholder('mushroom')],
      mask: placeholder('right'),
      denoising_strength: 0.95,
      seed: 3,
      steps,
      ...size,
    },
    names: ['mushroom-half'],
  },
  {
    title: 'Upscaling',
    note: 'The model draws 64 pixels, as in the first image here ("a fox face"); the upscaler enlarges it with sharp edges.',
    path: '/sdapi/v1/extra-single-image',
    json: { image: placeholder('fox-small'), upscaling_resize: 4, upscaler_1: 'ESRGAN-slim 4x' },
    before: 'fox-small',
    names: ['fox'],
  },
  {
    title: 'OpenAI: generations',
    note: 'With a background: the hill and the sky come from the prompt.',
    path: '/v1/images/generations',
    json: { prompt: 'a house on a hill', size: '256x256', seed: 3, steps },
    names: ['house'],
  },
  {
    title: 'OpenAI: edits',
    note: 'The upper part of the mask is transparent and is repainted; the stem stays.',
    path: '/v1/images/edits',
    form: { image: 'mushroom', mask: 'upper', prompt: 'a blue mushroom', seed: '3', steps: String(steps) },
    files: ['image', 'mask'],
    names: ['mushroom-blue'],
  },
  {
    title: 'OpenAI: variations',
    note: 'Without a prompt: another house of the same colours.',
    path: '/v1/images/variations',
    form: { image: 'house', seed: '9', steps: String(steps), denoising_strength: '0.5' },
    files: ['image'],
    names: ['house-other'],
  },
  {
    title: 'A ComfyUI graph',
    note: 'Drawn at 64 pixels, then upscaled by a separate node.',
    path: '/prompt',
    json: { prompt: graph },
    names: ['rocket'],
  },
];

/** The request as a command, with placeholders for images. */
function shellCommand({ path, json, form, files }) {
  const address = `http://localhost:5001${path}`;
  if (json) return `curl ${address} -d '${written(json)}'`;
  const parts = Object.entries(form).map(([name, value]) =>
    files.includes(name) ? `-F ${name}=@${value}.png` : `-F '${name}=${value}'`,
  );
  return `curl ${address} \\\n  ${parts.join(' ')}`;
}

const lineLength = 116;

/** On one line where that is enough. */
function written(value, indent = '') {
  const line = JSON.stringify(value, undefined, 1).replace(/\n\s*/g, ' ');
  if (line.length + indent.length <= lineLength || typeof value !== 'object') return line;
  const inner = `${indent}  `;
  const entries = Object.entries(value).map(([name, each]) => `${inner}"${name}": ${written(each, inner)}`);
  return `{\n${entries.join(',\n')}\n${indent}}`;
}

function filled(value) {
  if (Array.isArray(value)) return value.map(filled);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each)]));
  }
  const name = [...imagesByName.keys()].find((each) => value === placeholder(each));
  return name === undefined ? value : imagesByName.get(name).toString('base64');
}

async function ask(base, { path, json, form, files }) {
  let body = JSON.stringify(filled(json));
  if (form) {
    body = new FormData();
    for (const [name, value] of Object.entries(form)) {
      if (files.includes(name)) body.append(name, new Blob([imagesByName.get(value)]), `${value}.png`);
      else body.append(name, value);
    }
  }
  const reply = await fetch(`${base}${path}`, { method: 'POST', body });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  return answer;
}

async function picturesOf(base, request) {
  const answer = await ask(base, request);
  if (answer.prompt_id) return fromHistory(base, answer.prompt_id);
  const all = answer.images ?? answer.data?.map(({ b64_json: base64 }) => base64) ?? [answer.image];
  return all.map((base64) => Buffer.from(base64, 'base64'));
}

async function fromHistory(base, id) {
  for (;;) {
    const entry = (await (await fetch(`${base}/history/${id}`)).json())[id];
    if (!entry) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      continue;
    }
    const files = Object.values(entry.outputs).flatMap(({ images }) => images);
    return Promise.all(
      files.map(async (file) =>
        Buffer.from(await (await fetch(`${base}/view?${new URLSearchParams(file)}`)).arrayBuffer()),
      ),
    );
  }
}

/** A mask, and a picture to enlarge, which no request makes. */
async function prepare(base) {
  const plain = (width, height, background) => sharp({ create: { width, height, channels: 4, background } }).png();
  const onto = async (under, over, left, top) =>
    under
      .composite([{ input: await over.toBuffer(), left, top }])
      .png()
      .toBuffer();
  imagesByName.set('right', await onto(plain(256, 256, '#000'), plain(128, 256, '#fff'), 128, 0));
  imagesByName.set('upper', await onto(plain(256, 256, '#0000'), plain(256, 92, '#000'), 0, 164));
  const json = { prompt: 'a fox face', seed: 3, steps, width: 64, height: 64 };
  const [small] = await picturesOf(base, { path: '/sdapi/v1/txt2img', json });
  await keep('fox-small', small);
}

async function keep(name, bytes) {
  imagesByName.set(name, bytes);
  await sharp(bytes).webp({ quality: 82 }).toFile(`${folder}/${name}.webp`);
  console.log(name);
}

async function started() {
  const child = spawn(process.execPath, [pathOf('dist/main.js'), '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const [data] of (async function* () {
    for (;;) yield await once(child.stdout, 'data');
  })()) {
    output += data;
    const [, port] = /custom endpoint at http:\/\/localhost:(\d+)/.exec(output) ?? [];
    if (port) return { child, base: `http://localhost:${port}` };
  }
}

mkdirSync(folder, { recursive: true });
const { child, base } = await started();
try {
  await prepare(base);
  const parts = [];
  for (const request of requests) {
    const { title, note, before, names } = request;
    for (const [index, bytes] of (await picturesOf(base, request)).entries()) await keep(names[index], bytes);
    const images = [before, ...names].filter(Boolean).map((name) => `![${title}](pictures/${name}.webp)`);
    parts.push(
      [`### ${title}`, note, `\`\`\`sh\n${shellCommand(request)}\n\`\`\``, images.join('\n')]
        .filter(Boolean)
        .join('\n\n'),
    );
  }
  const text = readFileSync(page, 'utf8');
  const [head, tail] = [text.slice(0, text.indexOf(begin) + begin.length), text.slice(text.indexOf(end))];
  writeFileSync(page, `${head}\n\n${parts.join('\n\n')}\n\n${tail}`);
} finally {
  child.kill();
}
