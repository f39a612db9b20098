/** A package that a pack is made of: this very version, and nothing that hashes to something else. */
export interface PackPackage {
  readonly name: string;
  readonly version: string;
  /** `sha512-…`, as registries write it. */
  readonly integrity: string;
  readonly megabytes: number;
}

/** `linux-x64`, `darwin-arm64`, `win32-x64`, … */
export type System = string;

export interface Pack {
  readonly name: string;
  /** What a person gets by it, as one sentence. */
  readonly brings: string;
  readonly licence: string;
  /** What to fetch, by system; `every` where one package is for all that it names inside. */
  readonly packages: Readonly<Record<System, readonly PackPackage[]>>;
}

const llama = (part: string, megabytes: number, hash: string): PackPackage => ({
  name: `@node-llama-cpp/${part}`,
  version: '3.21.1',
  integrity: `sha512-${hash}`,
  megabytes,
});

const whisper = (part: string, megabytes: number, hash: string): PackPackage => ({
  name: `@fugood/node-whisper-${part}`,
  version: '1.1.1',
  integrity: `sha512-${hash}`,
  megabytes,
});

const fabric: PackPackage = {
  name: '@qvac/fabric',
  version: '0.15.0',
  integrity: 'sha512-07ppIuba4iUzgDgHxyDKZLF30qZ21miiITsMDN8aFPIPsOxSNfQY0WGE4YkiOHH8rqjytzV4le8ei+UjN3st0A==',
  megabytes: 198,
};

const diffusion: readonly PackPackage[] = (
  [
    [
      'bare-sidecar',
      '0.3.0',
      104,
      'NyhdUnQLnPQTGCSRGHxLQzq3OPnKTBcK065HDjwO/mnVPpZV/zIdJVIzXY5SMNob9NTHNaYxka25nv6WxcPXEg==',
    ],
    [
      '@qvac/diffusion-cpp',
      '0.25.0',
      200,
      '34FPYobB6iXd6CG6aK6CNPVYPrf7sYmODsxa9+bCGF2OrUFcitYW8VMnEL1EeAWJg9b5L9mXugc8y3BcmR5KxQ==',
    ],
    [
      '@qvac/infer-base',
      '0.6.2',
      1,
      'soUTI8227F0l2XYSeMHPEfwlZV1Cohe2rhZGiSYFMkm3Ak2N+JV4fufD5SBeNMFq0byrqgt8BWWlcbLSFCVqCw==',
    ],
    [
      '@qvac/logging',
      '0.1.1',
      1,
      'un8/b8JZBXRW/ljezFj3VGPxALhMvONeD62F/NHaU3TGs4SmdXWDcG65Aot+Bi4rIjaKQS5iY1P4WYGKU6Chew==',
    ],
    [
      'bare-path',
      '3.1.2',
      1,
      'ZyKbsuuqK6Ag0K8pX6V5Txq6XeJRvY+wXucnFGRjiyVYP9YWDpIQugk/b+enRYrEYBJaqLzghRQpXPMR7341Nw==',
    ],
    [
      'bare-events',
      '2.9.2',
      1,
      'AIPKioV7/Y/8KfZ3AAhjPJxLLbY49S64Ym5DakZlUg75qQiTgUq9hEJoEwa4eUezPUlXRy/i5NpsKvo9jgKmoA==',
    ],
    ['bare-os', '3.9.3', 1, 'fF4Q7QsyKVF5Rj0qvI8BgUNjqzC2JvQlpTaPLjVJVxYVUX5Zr9un+y3w1HmA4nNKdFmRBT8z/WmrjvXzXVerKQ=='],
    [
      'bare-env',
      '3.0.1',
      1,
      'BdoLvnzaWR0YyyJreEx4zG2Od0AC/s9JSZ+EXyMZKunpn8zEgR/dGv37hdFUaY1bjDkcRKvcKkFyJIwlJ0CaYA==',
    ],
  ] as const
).map(([name, version, megabytes, hash]) => ({ name, version, megabytes, integrity: `sha512-${hash}` }));

const bareRuntime = diffusion[0] as PackPackage;

const music = (system: System, megabytes: number, hash: string): readonly PackPackage[] => [
  bareRuntime,
  { name: `@qvac/audiogen-ggml-${system}`, version: '0.4.1', integrity: `sha512-${hash}`, megabytes },
];

/** Large engines that few need: fetched when somebody asks for them, never by themselves. */
export const packs: readonly Pack[] = [
  {
    name: 'cuda',
    brings: 'Text on NVIDIA cards through CUDA, instead of Vulkan.',
    licence: 'MIT',
    packages: {
      'linux-x64': [
        llama(
          'linux-x64-cuda',
          143,
          'idsE55VoD/FbvLhnBC9krUJaUoC0XnebseAAnCpm/brKf61HEbu+idgbb5eN6mxkjLSrHtILprJ0nDcUJjVrFg==',
        ),
        llama(
          'linux-x64-cuda-ext',
          177,
          '1PuURowccBcks3CCoMe1mTHh5vD0V5bFHMUEgtbI/OSDjpP+Pdbn+lf42CGUrepTzR8kCH1HovQ7d8q6/vuIKA==',
        ),
      ],
      'win32-x64': [
        llama(
          'win-x64-cuda',
          139,
          'PLz70neFEMkQTlmJqG1ujUtCSgHasLPMxQ9rLkqQVmZYAXqkRj+45TIHCjdn3XqUeaoun0vrO9rRaxZ8NVq9jg==',
        ),
        llama(
          'win-x64-cuda-ext',
          175,
          'L2MxLVEYPDDe4O8EDWPmX6brldc9+Vt9hNoT/anj3pSnmrjkQcmaoKhHs6oP5qhEhb5Uog0rj6lgzNGtJO3p9Q==',
        ),
      ],
    },
  },
  {
    name: 'vision',
    brings: 'Pictures and sound as input for text models that have a projector (--mmproj).',
    licence: 'Apache-2.0',
    packages: {
      'linux-x64': [fabric],
      'linux-arm64': [fabric],
      'darwin-arm64': [fabric],
      'darwin-x64': [fabric],
      'win32-x64': [fabric],
    },
  },
  {
    name: 'diffusion',
    brings: 'Pictures with models of your own (--sdmodel), by stable-diffusion.cpp on processors, Vulkan and Metal.',
    licence: 'Apache-2.0',
    packages: {
      'linux-x64': diffusion,
      'linux-arm64': diffusion,
      'darwin-arm64': diffusion,
      'darwin-x64': diffusion,
      'win32-x64': diffusion,
    },
  },
  {
    name: 'music',
    brings: 'Music with ACE-Step models (--musicdiffusion), by ggml on processors, Vulkan and Metal.',
    licence: 'Apache-2.0',
    packages: {
      'linux-x64': music(
        'linux-x64',
        179,
        '97JR0LSObrjiji3S7XcLL7cbtLeSMk37IG/qrPVgHrAuc53rAtCmgL8XcZ2ZVd6aiVrKZVKnniyBAS4BdiM3Sw==',
      ),
      'linux-arm64': music(
        'linux-arm64',
        13,
        '5Pd/TfJHgcqPcqcwWlO4y14GKjSOO8qQ7GExTdSTE+Czhg99+U5Sp6diBqCk+gzNdtzlK6CUXkQlE/GKqVcLAw==',
      ),
      'darwin-arm64': music(
        'darwin-arm64',
        1,
        'Xw+uQMccI9AsoQMjBWnvLtg6ctFZksis6/WtgudSDbejOYHtXkJRq58k5xHZzCAzt6YbMPLFDNCb5DzqMfqrVQ==',
      ),
      'darwin-x64': music(
        'darwin-x64',
        1,
        'akZ89OQQbQ5ubSWp+9vF4o4m0fvPMi7a4klyqvLnY1OaUSweoeK+zT2fk3DFL1gfs3PVhtR6FAOSOWM7StrpFQ==',
      ),
      'win32-x64': music(
        'win32-x64',
        10,
        'KgttjN1BLFwkqZU4JUhCyg0dFczFw0vXV/OPbMLkH/g1RMvYtdqXTlpncFSRJVjjLS0q6IMPPiGJ2PEVj6Guog==',
      ),
    },
  },
  {
    name: 'whisper-vulkan',
    brings: 'Speech to text (--whispermodel) on graphics cards through Vulkan.',
    licence: 'MIT',
    packages: {
      'linux-x64': [
        whisper(
          'linux-x64-vulkan',
          16,
          'ChtrCOVpJ8Lh1pWnrgJlPaLWLEmzpd/T5V0fS8t+mBL7mPFNuWiu72MHBfMaYtweecJD5BKw+FIdoqCVMRb90g==',
        ),
      ],
      'linux-arm64': [
        whisper(
          'linux-arm64-vulkan',
          16,
          'QQT/9FMqbmTETtvKT0Ej2zTG+XkSrG8QzE5RG/g58EfRDx6vJu1BOuRy6QymsXTyePPQkW3QLiLLzIuefyjXxw==',
        ),
      ],
      'win32-x64': [
        whisper(
          'win32-x64-vulkan',
          12,
          'q/BDnLq8/8l1z8rWPZEg+dSaeMcbng0kqpl7wJb9fFAxWPP0l1EigFwMngGcRUgepn9vzqKpLDWatD+588CUcw==',
        ),
      ],
      'win32-arm64': [
        whisper(
          'win32-arm64-vulkan',
          12,
          'qFlxCr8z4ZeUtRw6reiuMPz8H7cmEzJ24MF2qIEyoMLch5lfpjL6fFkuMmWUt5IGolEOZZh7xWfuJG10aZ1NOA==',
        ),
      ],
    },
  },
  {
    name: 'whisper-cuda',
    brings: 'Speech to text (--whispermodel) on NVIDIA cards through CUDA.',
    licence: 'MIT',
    packages: {
      'linux-x64': [
        whisper(
          'linux-x64-cuda',
          74,
          '9J5tWE/5kaOskfi9lwtka9J3IKXy0m980USB7MELM84n9tEzG+YiwTD1U/P8+MWHuWIgcNwjSGfrC6qCmvazew==',
        ),
      ],
      'linux-arm64': [
        whisper(
          'linux-arm64-cuda',
          73,
          'fGGuUABBbk2WcPGxEeyHLXfv54agUX4HTpNX9BCrmX+95wNHtoX513iFlqEVH2VRrDDf1GGTC9EDZ1pEDWFbSg==',
        ),
      ],
      'win32-x64': [
        whisper(
          'win32-x64-cuda',
          120,
          '5zQCvNs/zKXdKsGFx+0nPT3Grq4uapSkPM9acH3koEL25U5M7O8rXYzTNkkjDAvmrc9e1YotROy4CRib6Rfpyg==',
        ),
      ],
    },
  },
];

export function systemOf({ platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'>): System {
  return `${platform}-${arch}`;
}
