import { test } from 'vitest';
import { embeddedModel } from '../live/server.ts';
import { engines } from './engine.ts';
import { writeEarProjector } from './models.ts';
import { packs } from './pack.ts';
import { wav } from './wav.ts';
const start = engines();
test('ref', async () => {
  process.env.PARLEY_PACKS = packs;
  await writeEarProjector('/tmp/qvac/ear.gguf', 512);
  const file = wav(2, (at) => Math.sin(at * 2000));
  const engine = await start(embeddedModel, { mmproj: '/tmp/qvac/ear.gguf', contextsize: 2048 });
  console.log(JSON.stringify(engine.host.state()));
  for (const f of [file, wav(2, (at) => Math.sin(at * 900)), file, Buffer.from('RIFFxxxxWAVEjunkjunkjunk')])
  console.log(await engine.ask('Once upon a time (Attached Audio 1) there was', { media: [{ kind: 'audio', base64: f.toString('base64') }] }));
}, 200000);
