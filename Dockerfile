# Viva in a container: see docs/start.md.
#   docker build --target viva --tag viva .        Viva alone
#   docker build --tag viva:sandbox .              and the toolchains with which programs in answers are run

FROM python:3.12-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
COPY docs docs
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim-bookworm AS viva
ARG EXTRAS="all"
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir "$(echo /wheels/*.whl)${EXTRAS:+[$EXTRAS]}" && \
    useradd --uid 1000 --create-home viva && \
    install --directory --mode 1777 /work /config
# For whatever user the container runs as: Viva's secret and its cache, in a volume if they are to stay.
ENV VIVA_CONFIG=/config/viva VIVA_CACHE=/config/cache
USER 1000
WORKDIR /work
ENTRYPOINT ["viva"]
CMD ["--help"]

FROM viva AS sandbox
USER 0
# The list is Viva's own (src/viva/sandbox/languages.toml), so that image and program cannot disagree.
RUN apt-get update && \
    DEBIAN_FRONTEND=noninteractive bash -c "$(viva doctor --apt)" && \
    rm -rf /var/lib/apt/lists/*
USER 1000
