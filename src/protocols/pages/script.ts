/**
 * What runs in the browser on the start page. It is kept as text, because it is served as it stands: no build step, no
 * library. `String.raw` keeps its backslashes.
 */
export const script = String.raw`'use strict';
const find = (id) => document.getElementById(id);
const base = new URL('.', location.href);
const storedKey = 'parley-key';

for (const code of document.querySelectorAll('code[data-path]')) {
  const home = new URL(base.pathname.replace(/\/lcpp\/$/, '/'), base);
  code.textContent = new URL(code.dataset.path, home).href.replace(/\/$/, '');
}

async function call(path, options = {}) {
  const key = sessionStorage.getItem(storedKey);
  const headers = key ? { authorization: 'Bearer ' + key } : {};
  const response = await fetch(new URL(path, base), { ...options, headers });
  if (response.status !== 401) return response;
  await askForKey();
  return call(path, options);
}

const post = (path, body, signal) => call(path, { method: 'POST', body: JSON.stringify(body), signal });
const read = async (path) => (await call(path)).json();

function askForKey() {
  const dialog = find('key-dialog');
  return new Promise((resolve, reject) => {
    find('key-form').onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem(storedKey, find('key').value);
      dialog.onclose = null;
      dialog.close();
      resolve();
    };
    find('key-cancel').onclick = () => dialog.close();
    dialog.onclose = () => reject(new Error('The server answers only with its key.'));
    find('key').value = '';
    dialog.showModal();
  });
}

async function refresh() {
  let soon = false;
  try {
    const [perf, model, context] = await Promise.all(
      ['api/extra/perf', 'api/v1/model', 'api/extra/true_max_context_length'].map(read),
    );
    soon = perf.loading !== null;
    show(perf, model.result, context.value);
  } catch {
    find('model').textContent = 'The server does not answer.';
    find('loading').hidden = true;
  }
  setTimeout(refresh, soon ? 500 : 5000);
}

function show(perf, name, context) {
  find('loading').hidden = perf.loading === null;
  if (perf.loading) find('loading').value = perf.loading.progress;
  const text = statusText(perf, name, context);
  // A screen reader speaks every change; what has not changed stays untouched.
  if (find('model').textContent !== text) find('model').textContent = text;
}

function statusText(perf, name, context) {
  if (perf.loading) return 'Loading ' + perf.loading.name + ': ' + Math.round(perf.loading.progress * 100) + ' %';
  if (perf.failed) return perf.failed.name + ' could not be loaded: ' + perf.failed.reason;
  if (name === 'inactive') return 'No text model is loaded. Start the server with --model and the path of a GGUF file.';
  const speed = perf.last_eval_speed > 0 ? ' Last reply: ' + perf.last_eval_speed.toFixed(1) + ' tokens a second.' : '';
  const queue = perf.queue > 0 ? ' Waiting: ' + perf.queue + '.' : '';
  return name.replace('koboldcpp/', '') + ' is ready, with room for ' + context + ' tokens.' + queue + speed;
}

let running = null;

function requestBody(genkey) {
  const prompt = find('prompt').value;
  const asked = { genkey, max_length: find('max-length').valueAsNumber, temperature: find('temperature').valueAsNumber };
  if (!find('chat').checked) return { ...asked, prompt };
  return { ...asked, prompt: '{{[INPUT]}}' + prompt + '{{[OUTPUT]}}', stop_sequence: ['{{[INPUT]}}', '{{[OUTPUT]}}'] };
}

async function generate() {
  const mine = { genkey: newKey(), controller: new AbortController(), stopped: false };
  running = mine;
  find('start').disabled = true;
  find('stop').disabled = false;
  find('reply').textContent = '';
  find('progress').textContent = 'Waiting for the first words…';
  try {
    const response = await post('api/extra/generate/stream', requestBody(mine.genkey), mine.controller.signal);
    if (!response.ok) throw new Error(await refusal(response));
    const last = await receive(response.body);
    if (last.error) throw new Error(last.error.message);
    find('progress').textContent = mine.stopped ? 'Stopped.' : last.finish_reason === 'length' ? 'Ended at the reply length.' : 'Done.';
  } catch (error) {
    find('progress').textContent = mine.stopped ? 'Stopped.' : error.message;
  } finally {
    running = null;
    find('start').disabled = false;
    find('stop').disabled = true;
  }
}

async function receive(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error('The connection ended before the reply did.');
    const frames = (rest + value).split('\n\n');
    rest = frames.pop();
    for (const frame of frames) {
      const data = frame.split('\n').find((line) => line.startsWith('data: '));
      if (!data) continue;
      const event = JSON.parse(data.slice('data: '.length));
      if (event.token) {
        find('progress').textContent = 'Writing…';
        find('reply').append(event.token);
      }
      if (event.finish_reason) return event;
    }
  }
}

async function refusal(response) {
  const body = await response.json().catch(() => ({}));
  return body.detail?.msg ?? 'The server refused with status ' + response.status + '.';
}

async function stop() {
  const mine = running;
  if (!mine || mine.stopped) return;
  mine.stopped = true;
  await post('api/extra/abort', { genkey: mine.genkey }).catch(() => undefined);
  // The rest of the text still arrives with the last frame; one that never comes must not keep the page waiting.
  setTimeout(() => mine.controller.abort(), 2000);
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return 'PAGE' + Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

find('try').addEventListener('submit', (event) => {
  event.preventDefault();
  if (!running) generate();
});
find('stop').addEventListener('click', stop);
find('prompt').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) find('try').requestSubmit();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !find('key-dialog').open) stop();
});
refresh();
`;
