# The service in a container: slim, without PyTorch, as a user of its own, ready to speak without a network.
#
#   docker build -t asagoe .                                             for the machine it is built on
#   docker buildx build --platform linux/amd64,linux/arm64 -t asagoe .   for several
#   docker build -t asagoe --build-arg VOICES=my-voices.yaml --secret id=hf-token,src=token .
#   docker build -t asagoe:cuda --target cuda .                          with PyTorch for CUDA (x86-64)
#                                                                        (VOICES and secrets as above)
#
# How it is run, and how it sounds: docs/docker.md.

ARG DEBIAN=bookworm

# What every image needs: Python, PortAudio, and the library that speaks to a PulseAudio socket.
FROM debian:${DEBIAN}-slim AS base
ENV LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive
RUN apt-get update \
 && apt-get install -y --no-install-recommends python3 libportaudio2 libpulse0 ca-certificates tzdata \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log /usr/share/doc /usr/share/man

# ALSA's way to PulseAudio, without the 200 MB of codecs that its Debian package brings along.
FROM base AS alsa
RUN apt-get update && apt-get install -y --no-install-recommends libasound2-plugins \
 && mkdir /plugins && cp /usr/lib/*/alsa-lib/libasound_module_*_pulse.so /plugins/

# The environment. Only what is installed goes on into the images, not what installed it.
FROM base AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv
RUN python3 -m venv /opt/asagoe
# Extras of the project: s3 for voices from buckets, world for pitch and intonation of neural voices.
ARG EXTRAS=broker
# For a builder without the package index: a folder of wheels, and no index.
ARG PIP_FIND_LINKS= PIP_NO_INDEX=
WORKDIR /src
COPY requirements.lock ./
RUN /opt/asagoe/bin/pip install --no-cache-dir --disable-pip-version-check 'pip>=25.1'
COPY pyproject.toml README.md LICENSE ./
COPY engine engine
COPY daemon daemon
COPY config config
COPY systemd systemd
RUN /opt/asagoe/bin/pip install --no-cache-dir --disable-pip-version-check -c requirements.lock ".[${EXTRAS}]"

# No service needs the installers, nor the tests and the C headers of its libraries.
FROM build AS slim
COPY docker/slim /usr/local/bin/
RUN slim /opt/asagoe

# The same, with PyTorch for CUDA.
FROM build AS cuda-slim
ARG PIP_FIND_LINKS= PIP_NO_INDEX= TORCH=torch>=2.9,<3
RUN /opt/asagoe/bin/pip install --no-cache-dir --disable-pip-version-check -c requirements.lock \
      "${TORCH}" 'transformers>=5,<6' 'safetensors>=0.5'
COPY docker/slim /usr/local/bin/
RUN slim /opt/asagoe

# How it runs; the same for all images.
FROM base AS settings
COPY --from=alsa /plugins /usr/lib/alsa-lib
COPY docker/asound.conf docker/asound.pulse.conf /etc/
COPY docker/asagoe.yaml /etc/asagoe/asagoe.yaml
# Any user may run it (--user), for example the one whose sound server it speaks through: hence writable by all.
RUN useradd --system --uid 10001 --user-group --groups audio --home-dir /var/lib/asagoe asagoe \
 && mkdir -p /var/lib/asagoe /run/asagoe /voices && chmod 1777 /var/lib/asagoe /run/asagoe /voices
ENV PATH=/opt/asagoe/bin:$PATH HOME=/var/lib/asagoe STATE_DIRECTORY=/var/lib/asagoe RUNTIME_DIRECTORY=/run/asagoe \
    ASAGOE_CACHE=/voices ASAGOE_CONFIG=/etc/asagoe/asagoe.yaml ASAGOE_WATCHDOG=90 ALSA_PLUGIN_DIR=/usr/lib/alsa-lib \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 ORT_DISABLE_TELEMETRY=1 HF_HUB_DISABLE_TELEMETRY=1
# The pulse of the service: ready, and no part of it stuck.
HEALTHCHECK --interval=30s --timeout=10s --start-period=15m CMD ["asagoe", "doctor", "--health"]
USER asagoe
ENTRYPOINT ["asagoe"]
CMD ["run"]

FROM settings AS without-voices
COPY --from=slim /opt/asagoe /opt/asagoe

# Voices of a configuration (its `speakers`), fetched once, here. Tokens are secrets of the build: they are in no layer.
FROM without-voices AS voices
ARG VOICES=docker/asagoe.yaml
COPY ${VOICES} /tmp/voices.yaml
COPY docker/build-in-voices /usr/local/bin/
# For a hub or a bucket of one's own.
ARG HF_ENDPOINT= AWS_ENDPOINT_URL_S3=
USER root
RUN --mount=type=secret,id=hf-token --mount=type=secret,id=s3-credentials \
    CREDENTIALS_DIRECTORY=/run/secrets AWS_SHARED_CREDENTIALS_FILE=/run/secrets/s3-credentials \
    build-in-voices /tmp/voices.yaml cpu

# Beside the voices for CUDA those for the processor: where the device is gone one day, the house still hears its voices.
FROM voices AS cuda-voices
ARG HF_ENDPOINT= AWS_ENDPOINT_URL_S3=
RUN --mount=type=secret,id=hf-token --mount=type=secret,id=s3-credentials \
    CREDENTIALS_DIRECTORY=/run/secrets AWS_SHARED_CREDENTIALS_FILE=/run/secrets/s3-credentials \
    build-in-voices /tmp/voices.yaml cuda

FROM settings AS cuda
COPY --from=cuda-slim /opt/asagoe /opt/asagoe
COPY --from=cuda-voices /voices /voices
USER root
RUN chmod 1777 /voices
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER asagoe

# The last one is what `docker build` makes.
FROM without-voices
COPY --from=voices /voices /voices
USER root
RUN chmod 1777 /voices
USER asagoe
